import { expect, it } from "vitest";
import { DELETED } from "../../../src/core/plan/change.ts";
import { owes, restOf } from "../../../src/core/record/owes.ts";
import { DOUBTED } from "../../../src/core/record/record.ts";
import { aRecord } from "../../builders/records.ts";

const failure = { code: "REFUSED", message: "no", count: 1, retryAt: new Date(), since: new Date() };
const failures = { change: null, rotation: null, storing: null };

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
  [["failing storing"], { failures: { ...failures, storing: failure } }, 0],
  [["failing rotation"], { failures: { ...failures, rotation: failure } }, 1],
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
  [["wanted"], { wantedSince: new Date(), wantedBy: "choice" }, 1],
  [["doubted"], { verifiedAt: DOUBTED }, 1],
  [[], { ...gone, verifiedAt: DOUBTED }, 0],
  [
    ["under way", "failing rotation", "held"],
    { intent: "delete", held: "delete", failures: { ...failures, rotation: failure } },
    0,
  ],
])("a group owes %j if it has %j; its rest is %i", (owed, overrides, rest) => {
  const record = aRecord(overrides);
  expect(owes(record)).toEqual(owed);
  expect(restOf(record)).toBe(rest);
});
