import { expect, test } from "vitest";
import { type Guards, statusText } from "../../../src/commands/output/status.ts";
import { NOBODY_MISSING, type WentMissing } from "../../../src/core/deletion/missing-tenants.ts";
import type { Failure } from "../../../src/core/failure/sync-error.ts";
import { type Counts, noCounts, runOutcome } from "../../../src/core/report/counts.ts";
import type { LedgerStatus, RecordedRun } from "../../../src/ports/ledger/scope.ts";
import { aChangeFailure, aRejection } from "../../builders/groups.ts";

const NOW = new Date("2026-03-01T12:00:00Z");

function aRun(command: string, counts: Partial<Counts>, error: Failure | null = null): RecordedRun {
  const all = { ...noCounts(), ...counts };
  const outcome = error ? "failed" : runOutcome(all);
  const result = { outcome, counts: all, requests: 1, error };
  return { id: "1", command, startedAt: NOW, finishedAt: NOW, result };
}

const TABLES = { tokens: ["public.groupsync_tokens of groupsync"], ledger: "public.groupsync_*" };
const NOBODY: WentMissing = { ...NOBODY_MISSING, owned: 9, allowed: 3 };
const GUARDS: Guards = { missing: NOBODY, refreshHold: null };
const GROUPS = { total: 9, in_sync: 9, under_way: 0, failing: 0, missing: 0, unverified: 0 };

const aStatus = (overrides: Partial<LedgerStatus> = {}): LedgerStatus => ({
  groups: GROUPS,
  oldestToken: null,
  oldestUnsynced: null,
  held: null,
  failing: [],
  rejected: [],
  runs: [],
  lease: null,
  service: { baseUrl: null, teamId: null, updates: null, isProbed: false, answeredAt: null },
  ...overrides,
});

const NAMES = new Map([["globex", "Globex\u202e Ltd"]]);

/** The newest run first. */
const textAfter = (runs: readonly RecordedRun[], overrides: Partial<LedgerStatus> = {}): string =>
  statusText(aStatus({ runs, ...overrides }), NAMES, TABLES, GUARDS, runs, NOW, false);

const rejected = [{ ...aRejection(), since: NOW }];

test.each<[string, string[], Partial<Counts>, Partial<LedgerStatus>]>([
  ["nothing is wrong", ["All is well."], { unchanged: 9 }, {}],
  [
    "rows are rejected and groups are failing",
    ["Needs attention: 1 rejected row.", "Needs attention: 2 failing groups."],
    {},
    { groups: { ...GROUPS, failing: 2 }, rejected },
  ],
  [
    "the change of a single tenant is under way for long",
    ["Needs attention: a tenant has been waiting for 1 min 1 s."],
    {},
    { groups: { ...GROUPS, under_way: 1 }, oldestUnsynced: new Date(NOW.getTime() - 61_000) },
  ],
  [
    "removals are held, and a row is rejected",
    ["Needs attention: 9 removals held.", "Needs attention: 1 rejected row."],
    {},
    { held: { count: 9, code: null, groups: [] }, rejected },
  ],
])("if %s, status begins with: %s", (_, verdicts, counts, status) => {
  expect(
    textAfter([aRun("sync", counts)], status)
      .split("\n\n")[0]
      ?.split("\n"),
  ).toEqual(verdicts);
});

test("lists held removals with the command that approves them", () => {
  const groups = [
    { kind: "delete", user_group_id: "acme" },
    { kind: "replace", user_group_id: "globex" },
  ] as const;
  const held = { count: 2, code: "0123456789ab", groups };
  const text = textAfter([aRun("sync", { held: 2 })], { held });
  expect(text.split("\n")[0]).toBe("Needs attention: 2 removals held.");
  expect(text).toContain(`
Held
  delete acme
  replace globex  "Globex\\u{202e} Ltd"
  if they are meant to go: groupsync sync --approve-deletions 0123456789ab
`);
});

test("shows the command that approves a held refresh", () => {
  const refreshHold = { gone: 6, owned: 40, allowed: 4, approval: "0123456789ab" };
  const text = statusText(aStatus(), NAMES, TABLES, { ...GUARDS, refreshHold }, [], NOW, false);
  expect(text.split("\n")[0]).toMatch(/^Needs attention: the refresh is held: 6 groups were gone /);
  expect(text).toContain(`
Held refresh
  find out who has deleted these groups: to ask for a group that is gone makes it again
  if they are to be made again: groupsync sync --refresh --approve-refresh 0123456789ab
`);
});

const refused = { code: "KEY_REFUSED", message: "the service refuses the key" };

test("aligns the outcomes of the runs", () => {
  const runs = textAfter([aRun("rotate", { rotated: 1 }), aRun("sync", {})]).split("Last runs\n")[1];
  expect(runs?.split("\n").map((line) => line.indexOf("ok"))).toEqual([36, 36, -1]);
});

test.each<[string, RecordedRun, string]>([
  ["with nothing to do", aRun("sync", { unchanged: 9 }), "ok       nothing to do; 1 request in 0 ms"],
  ["that was a probe", aRun("probe", {}), "ok       1 request in 0 ms"],
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
  expect(textAfter([run])).toContain(`  2026-03-01T12:00:00.000Z  ${run.command}  ${line}\n`);
});

test("only the newest run can be running: an earlier run without an end did not finish", () => {
  const open = { ...aRun("sync", {}), finishedAt: null, result: null };
  const lease = { holder: "another", epoch: "1", acquiredAt: NOW, expiresAt: NOW };
  const later = new Date(NOW.getTime() + 2_500);
  expect(statusText(aStatus({ lease }), NAMES, TABLES, GUARDS, [open, open], later, false)).toContain(`
Last runs
  2026-03-01T12:00:00.000Z  sync  running for 2.5 s
  2026-03-01T12:00:00.000Z  sync  did not finish
`);
});

test("the first line is about the last sync, even if --runs doesn't show that sync", () => {
  const runs = [aRun("rotate", { rotated: 1 }), aRun("sync", { outdated: 2 })];
  const text = statusText(aStatus({ runs }), NAMES, TABLES, GUARDS, runs.slice(0, 1), NOW, false);
  expect(text.split("\n")[0]).toBe("Needs attention: 2 outdated groups.");
  expect(text).not.toContain("  sync  ");
});

test("shows since when a group has been failing", () => {
  const failing = [{ user_group_id: "acme", ...aChangeFailure(), since: new Date("2026-02-27T08:00:00Z") }];
  expect(statusText(aStatus({ failing }), NAMES, TABLES, GUARDS, [], NOW, false)).toContain(`
Failing
  acme  REFUSED (3 in a row since 2026-02-27T08:00:00.000Z, next try after 2026-03-01T00:00:00.000Z): GET was answered`);
});
