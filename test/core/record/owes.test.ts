import { expect, it } from "vitest";
import { DELETED } from "../../../src/core/plan/change.ts";
import { failingSince, owes, restOf } from "../../../src/core/record/owes.ts";
import { aRecord } from "../../builders/records.ts";

const failure = { code: "REFUSED", message: "no", count: 1, retryAt: new Date(), since: new Date() };
const failures = { change: null, rotation: null, storing: null };
const storing = { failures: { ...failures, storing: failure } };
const rotation = { failures: { ...failures, rotation: failure } };

const gone = { absence: { kind: "absent", since: new Date(), at: { ms: 0, reads: 1 } } } as const;

it.each<[readonly string[], Parameters<typeof aRecord>[0], 0 | 1 | 2]>([
  [[], {}, 1],
  [[], { unverified: "adopted" }, 1],
  [[], { unverified: "updated" }, 2],
  [[], gone, 0],
  [["under way"], { intent: "apply" }, 0],
  [["under way"], { intent: "rotate" }, 0],
  [["leftover"], { intent: "remove" }, 0],
  [["failing change"], { failures: { ...failures, change: { ...failure, fingerprint: "new" } } }, 0],
  [[], { digest: null }, 0],
  [[], { fingerprint: null }, 0],
  [["failing storing"], storing, 0],
  [[], { ...gone, ...storing }, 0],
  [[], { ...gone, ...storing, intent: "apply", fingerprint: null }, 0],
  [["failing storing"], { ...gone, ...storing, intent: "rotate" }, 0],
  [[], { ...gone, ...storing, intent: "replace" }, 0],
  [["failing rotation"], rotation, 1],
  [[], { ...gone, ...rotation }, 0],
  [["failing rotation", "wanted"], { ...gone, ...rotation, wantedSince: new Date() }, 0],
  [
    [],
    { ...gone, intent: "apply", failures: { ...failures, change: { ...failure, fingerprint: "new" } } },
    0,
  ],
  [
    ["failing change"],
    { ...gone, failures: { ...failures, change: { ...failure, fingerprint: DELETED } } },
    0,
  ],
  [["under way"], { ...gone, intent: "delete" }, 0],
  [["held"], { held: "replace" }, 1],
  [["held"], { ...gone, held: "delete" }, 0],
  [["wanted"], { wantedSince: new Date(), wantedBy: "choice" }, 1],
  [["doubted"], { doubt: "rewind" }, 1],
  [[], { ...gone, doubt: "rewind" }, 0],
  [["under way", "failing rotation", "held"], { intent: "delete", held: "delete", ...rotation }, 0],
])("a group owes %j if it has %j; its rest is %i", (owed, overrides, rest) => {
  const record = aRecord(overrides);
  expect(owes(record)).toEqual(owed);
  expect(restOf(record)).toBe(rest);
});

it("a group fails since the first of the failures that it owes", () => {
  const [early, late] = [new Date(1_000), new Date(2_000)];
  const both = {
    ...failures,
    rotation: { ...failure, since: early },
    storing: { ...failure, since: late },
  };
  expect(failingSince(aRecord({ failures: both }))).toEqual(early);
  expect(failingSince(aRecord({ ...gone, intent: "rotate", failures: both }))).toEqual(late);
  expect(failingSince(aRecord())).toBeNull();
});
