import { expect, it } from "vitest";
import { DELETED } from "../../../src/core/plan/change.ts";
import { isAtRest, owes } from "../../../src/core/record/owes.ts";
import { DOUBTED } from "../../../src/core/record/record.ts";
import { aRecord } from "../../builders/records.ts";

const failure = { code: "REFUSED", message: "no", count: 1, retryAt: new Date(), since: new Date() };
const failures = { change: null, rotation: null, storing: null };

const gone = { absence: { kind: "absent", since: new Date(), at: { ms: 0, reads: 1 } } } as const;

it.each<[readonly string[], Parameters<typeof aRecord>[0], boolean]>([
  [[], {}, true],
  [[], gone, false],
  [["under way"], { intent: "apply" }, false],
  [["under way"], { intent: "rotate" }, false],
  [["leftover"], { intent: "remove" }, false],
  [["failing change"], { failures: { ...failures, change: { ...failure, fingerprint: "new" } } }, false],
  [["failing storing"], { failures: { ...failures, storing: failure } }, false],
  [["failing rotation"], { failures: { ...failures, rotation: failure } }, true],
  [
    [],
    { ...gone, intent: "apply", failures: { ...failures, change: { ...failure, fingerprint: "new" } } },
    false,
  ],
  [
    ["failing change"],
    { ...gone, failures: { ...failures, change: { ...failure, fingerprint: DELETED } } },
    false,
  ],
  [["under way"], { ...gone, intent: "delete" }, false],
  [["held"], { held: "replace" }, true],
  [["wanted"], { wantedSince: new Date(), wantedBy: "choice" }, true],
  [["doubted"], { verifiedAt: DOUBTED }, true],
  [[], { ...gone, verifiedAt: DOUBTED }, false],
  [
    ["under way", "failing rotation", "held"],
    { intent: "delete", held: "delete", failures: { ...failures, rotation: failure } },
    false,
  ],
])("a group owes %j if it has %j; at rest: %s", (owed, overrides, atRest) => {
  const record = aRecord(overrides);
  expect(owes(record)).toEqual(owed);
  expect(isAtRest(record)).toBe(atRest);
});
