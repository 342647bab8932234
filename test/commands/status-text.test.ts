import { expect, test } from "vitest";
import { statusText } from "../../src/commands/status-text.ts";
import { type Counts, type Failure, noCounts, runOutcome } from "../../src/core/outcome.ts";
import type { WentMissing } from "../../src/core/went-missing.ts";
import type { LedgerStatus, RecordedRun } from "../../src/ports/ledger.ts";
import { aGroupFailure } from "../builders/groups.ts";

const NOW = new Date("2026-03-01T12:00:00Z");

function aRun(command: string, counts: Partial<Counts>, error: Failure | null = null): RecordedRun {
  const all = { ...noCounts(), ...counts };
  const outcome = error ? "failed" : runOutcome(all);
  const result = { outcome, counts: all, requests: 1, error };
  return { id: "1", command, startedAt: NOW, finishedAt: NOW, result };
}

const TABLES = { tokens: ["public.groupsync_tokens of groupsync"], ledger: "public.groupsync_*" };
const NOBODY: WentMissing = { count: 0, owned: 9, allowed: 3 };
const GROUPS = { total: 9, in_sync: 9, under_way: 0, failing: 0, missing: 0, unverified: 0 };

const aStatus = (overrides: Partial<LedgerStatus> = {}): LedgerStatus => ({
  groups: GROUPS,
  oldestToken: null,
  oldestUnsynced: null,
  held: null,
  failing: [],
  runs: [],
  lease: null,
  service: { baseUrl: null, teamId: null, updates: null },
  ...overrides,
});

/** The newest run first. */
const textAfter = (runs: readonly RecordedRun[], failing = 0, held: LedgerStatus["held"] = null): string =>
  statusText(aStatus({ groups: { ...GROUPS, failing }, held, runs }), TABLES, NOBODY, runs, NOW, false);

test.each<[string, string, Partial<Counts>, number]>([
  ["nothing is wrong", "All is well.", { unchanged: 9 }, 0],
  [
    "rows were rejected and groups are failing",
    "Needs attention: 1 rejected row and 2 failing groups.",
    { rejected: 1, failed: 2 },
    2,
  ],
  ["changed groups are left alone", "Needs attention: 1 outdated group.", { outdated: 1 }, 0],
])("where %s, status begins with: %s", (_, text, counts, failing) => {
  expect(textAfter([aRun("sync", counts)], failing).split("\n")[0]).toBe(text);
});

test("what is held is listed with the command that approves it", () => {
  const groups = [
    { kind: "delete", user_group_id: "acme" },
    { kind: "replace", user_group_id: "globex" },
  ] as const;
  const text = textAfter([aRun("sync", { held: 2 })], 0, { count: 2, code: "0123456789ab", groups });
  expect(text.split("\n")[0]).toBe("Needs attention: 2 removals held.");
  expect(text).toContain(`
Held
  delete acme
  replace globex
  if they are meant to go: groupsync sync --approve-deletions 0123456789ab
`);
});

const refused = { code: "KEY_REFUSED", message: "the service refuses the key" };

test.each<[string, RecordedRun[], string]>([
  ["rejected rows", [aRun("sync", { rejected: 2 })], "Needs attention: 2 rejected rows."],
  ["a sync that failed", [aRun("sync", {}, refused)], "The last sync failed: the service refuses the key"],
])("a rotation that went well says nothing of %s", (_, earlier, verdict) => {
  expect(textAfter([aRun("rotate", { rotated: 1 }), ...earlier]).split("\n")[0]).toBe(verdict);
});

test("a rotation that failed comes before what an earlier sync said", () => {
  const text = textAfter([aRun("rotate", {}, refused), aRun("sync", { unchanged: 9 })]);
  expect(text.split("\n")[0]).toBe("The last rotate failed: the service refuses the key");
});

test("the outcomes of runs stand below each other", () => {
  const runs = textAfter([aRun("rotate", { rotated: 1 }), aRun("sync", {})]).split("Last runs\n")[1];
  expect(runs?.split("\n").map((line) => line.indexOf("ok"))).toEqual([36, 36, -1]);
});

test.each<[string, RecordedRun, string]>([
  ["with nothing to do", aRun("sync", { unchanged: 9 }), "ok       nothing to do; 1 request in 0 ms"],
  [
    "that changed something",
    aRun("sync", { created: 2, failed: 1, unchanged: 9 }),
    "partial  2 created, 1 failed; 1 request in 0 ms",
  ],
  [
    "that failed in the middle",
    aRun("sync", { created: 2 }, refused),
    "failed   2 created; 1 request in 0 ms; KEY_REFUSED: the service refuses the key",
  ],
  [
    "that failed before anything",
    aRun("sync", {}, { ...refused, message: `\u0007${"x".repeat(500)}` }),
    `failed   1 request in 0 ms; KEY_REFUSED: \\u0007${"x".repeat(113)}…`,
  ],
])("a run %s has one line that says it all", (_, run, line) => {
  expect(textAfter([run])).toContain(`  2026-03-01T12:00:00.000Z  sync  ${line}\n`);
});

test("while a run goes on, an earlier one without an end did not finish", () => {
  const open = { ...aRun("sync", {}), finishedAt: null, result: null };
  const lease = { holder: "another", epoch: "1", acquiredAt: NOW, expiresAt: NOW };
  const later = new Date(NOW.getTime() + 2_500);
  expect(statusText(aStatus({ lease }), TABLES, NOBODY, [open, open], later, false)).toContain(`
Last runs
  2026-03-01T12:00:00.000Z  sync  running for 2.5 s
  2026-03-01T12:00:00.000Z  sync  did not finish
`);
});

test("the verdict goes by the last sync, also where that is not among the runs that are shown", () => {
  const runs = [aRun("rotate", { rotated: 1 }), aRun("sync", { rejected: 2 })];
  const text = statusText(aStatus({ runs }), TABLES, NOBODY, runs.slice(0, 1), NOW, false);
  expect(text.split("\n")[0]).toBe("Needs attention: 2 rejected rows.");
  expect(text).not.toContain("  sync  ");
});

test("a failing group says since when", () => {
  const failing = [{ user_group_id: "acme", ...aGroupFailure(), since: new Date("2026-02-27T08:00:00Z") }];
  expect(statusText(aStatus({ failing }), TABLES, NOBODY, [], NOW, false)).toContain(`
Failing
  acme  REFUSED (3 in a row since 2026-02-27T08:00:00.000Z, next try after 2026-03-01T00:00:00.000Z): GET was answered`);
});
