import { expect, test } from "vitest";
import { reportJson, reportText } from "../../../src/commands/output/report.ts";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { clockDifference } from "../../../src/core/plan/read-history.ts";
import { type Counts, noCounts, runOutcome } from "../../../src/core/report/counts.ts";
import type { RunReport } from "../../../src/engine/report/run-report.ts";

function aReport(counts: Partial<Counts>, overrides: Partial<RunReport> = {}): RunReport {
  const all = { ...noCounts(), ...counts };
  return {
    outcome: runOutcome(all),
    counts: all,
    requests: 0,
    durationMs: 340,
    errors: [],
    hold: undefined,
    clocks: undefined,
    refreshHold: undefined,
    keptTokens: new Set(),
    error: undefined,
    ...overrides,
  };
}

const textOf = (...of: Parameters<typeof aReport>): string => reportText("sync", aReport(...of), false);
const rotationOf = (...of: Parameters<typeof aReport>): string =>
  reportText("rotation", aReport(...of), false);
const jsonOf = (...of: Parameters<typeof aReport>): string => reportJson(aReport(...of));

test.each<[Partial<Counts>, requests: number, line: string]>([
  [{ created: 383 }, 383, "383 created; 383 requests in 340 ms"],
  [{ unchanged: 383 }, 0, "383 unchanged; 0 requests in 340 ms"],
  [{}, 0, "0 requests in 340 ms"],
])("shows what a good sync has done, without counts that are 0: %j", (counts, requests, line) => {
  expect(textOf(counts, { requests })).toBe(`In sync\n  ${line}\n`);
});

const clocks = clockDifference(26 * 3_600_000);
const errorOf = (code: string, message: string) => ({ user_group_id: "a", code, message });

test.each<[string, Partial<Counts>, Partial<RunReport>, string]>([
  [
    "the clocks differ",
    { unchanged: 3 },
    { outcome: "partial", clocks, errors: [{ user_group_id: null, ...clocks }] },
    `Done, but ${clocks.message}\n  ${clocks.hint}\n  3 unchanged; 0 requests in 340 ms\n`,
  ],
  [
    "a tenant of --only is gone",
    { missing: 1 },
    { errors: [errorOf("TENANT_GONE", "its tenant is gone; kept")] },
    "Done, but 1 tenant is gone\n" +
      "  1 missing; 0 requests in 340 ms\n" +
      "  a: TENANT_GONE: its tenant is gone; kept\n" +
      "  missing: their tenants are gone; groupsync plan tells what becomes of them\n",
  ],
  [
    "a tenant of --only is not ready",
    { not_ready: 1 },
    { errors: [errorOf("NOT_READY", "the tenant waits")] },
    "Done; 1 tenant is not ready\n" +
      "  1 not ready; 0 requests in 340 ms\n" +
      "  a: NOT_READY: the tenant waits\n" +
      "  not ready: they wait for source.ready_when, and their groups stay as they are\n",
  ],
  [
    "every group failed",
    { failed: 1 },
    { requests: 1, errors: [errorOf("REFUSED", "success is 0")] },
    "Done, with 1 failing group\n  1 failed; 1 request in 340 ms\n  a: REFUSED: success is 0\n" +
      "  what helps against REFUSED: compare the group's name, mapping and properties with a group that works\n",
  ],
  [
    "changed groups were left alone",
    { unchanged: 2, outdated: 1 },
    {},
    "Done, with 1 outdated group\n" +
      "  2 unchanged, 1 outdated; 0 requests in 340 ms\n" +
      "  outdated: changed, but left alone (service.update is never)\n",
  ],
])("doesn't say 'In sync' if %s", (_, counts, report, text) => {
  expect(textOf(counts, report)).toBe(text);
});

test("escapes control characters in words from outside", () => {
  const error = new SyncError("SOURCE_UNAVAILABLE", "cannot read customers: \u001b[2J");
  expect(textOf({}, { outcome: "failed", error })).toContain("cannot read customers: \\u001b[2J");
});

test("begins with the reason and the hint if the run failed", () => {
  const error = new SyncError("SOURCE_UNAVAILABLE", "cannot read customers", { hint: "is it running?" });
  const errors = [{ user_group_id: null, code: error.code, message: error.message }];
  expect(textOf({}, { outcome: "failed", error, errors })).toBe(
    "The sync failed: cannot read customers\n  is it running?\n  0 requests in 340 ms\n",
  );
});

const hold = {
  code: "DELETIONS_HELD",
  message: "2 deletions are held: deletion.limit lets 1 of 9 groups go in 24 hours",
  hint: "look at the source first",
  count: 2,
  approval: "0123456789ab",
  groups: [
    { kind: "delete", user_group_id: "acme" },
    { kind: "replace", user_group_id: "globex" },
  ],
  names: new Map([["acme", "Acme\u202e Ltd"]]),
} as const;
const heldError = { user_group_id: null, code: hold.code, message: hold.message };

test("shows held removals once: the reason, the command that approves them, and the groups", () => {
  const rejected = { user_group_id: null, code: "ID_NULL", message: "column id is null" };
  const refused = { user_group_id: null, code: "APPROVAL_MISMATCH", message: "another set" };
  const errors = [rejected, refused, heldError];
  expect(textOf({ held: 2, rejected: 1 }, { hold, errors })).toBe(
    "Done, but 2 deletions are held: deletion.limit lets 1 of 9 groups go in 24 hours\n" +
      "  look at the source first\n" +
      "  2 held, 1 rejected; 0 requests in 340 ms\n" +
      "  held:\n" +
      '    delete acme  "Acme\\u{202e} Ltd"\n' +
      "    replace globex\n" +
      "  (a row without an id): ID_NULL: column id is null\n" +
      "  APPROVAL_MISMATCH: another set\n" +
      "  what helps against ID_NULL: fill the id column, or exclude the row with source.where\n",
  );
});

test("--json has the approval code and the groups that it approves", () => {
  const report = { hold, errors: [heldError] };
  expect(JSON.parse(jsonOf({ held: 2 }, report))).toMatchObject({
    outcome: "held",
    held: 2,
    held_code: "0123456789ab",
    held_groups: [
      { user_group_id: "acme", name: "Acme\u202e Ltd", action: "delete" },
      { user_group_id: "globex", name: null, action: "replace" },
    ],
    errors: [heldError],
  });
  expect(JSON.parse(jsonOf({}))).toMatchObject({ outcome: "ok", held: 0, held_code: null, held_groups: [] });
});

test.each<[string, Partial<Counts>, string]>([
  ["that made new tokens", { rotated: 3 }, "Rotated"],
  ["of tokens that are not old enough", {}, "Nothing to rotate"],
])("the report of a rotation %s begins with the outcome", (_, counts, headline) => {
  expect(rotationOf(counts).split("\n")[0]).toBe(headline);
});

test.each<[string, string[], string[], Partial<Counts>, string]>([
  ["one group", ["a"], ["a"], { failed: 1 }, "Not rotated: the old token of a still works"],
  ["a group whose token may be dead", ["a"], [], { failed: 1 }, "Not rotated: a"],
  [
    "some of several",
    ["a", "b"],
    ["a", "b"],
    { failed: 2, rotated: 5 },
    "Not rotated: 2 of 7 groups; their old tokens still work",
  ],
  [
    "some, of which one token may be dead",
    ["a", "b", "c"],
    ["a", "b"],
    { failed: 3 },
    "Not rotated: 3 of 3 groups; the old tokens of 2 of them still work",
  ],
])(
  "the report of a rotation that failed for %s says whose old tokens still work",
  (_, ids, kept, counts, headline) => {
    const errors = ids.map((user_group_id) => ({ user_group_id, code: "REFUSED", message: "success is 0" }));
    const report = { errors, keptTokens: new Set(kept) };
    expect(rotationOf(counts, report).split("\n")[0]).toBe(headline);
  },
);

test("the report of a failed rotation speaks of a rotation and not of a sync", () => {
  const error = new SyncError("KEY_REFUSED", "the service refuses the key");
  expect(rotationOf({}, { outcome: "failed", error })).toMatch(/^The rotation failed: the service refuses/);
});
