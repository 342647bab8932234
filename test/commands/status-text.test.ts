import { expect, test } from "vitest";
import { statusText } from "../../src/commands/status-text.ts";
import { type Counts, type Failure, noCounts, runOutcome } from "../../src/core/outcome.ts";
import type { LedgerStatus, RecordedRun } from "../../src/ports/ledger.ts";

const NOW = new Date("2026-03-01T12:00:00Z");

function aRun(command: string, counts: Partial<Counts>, error: Failure | null = null): RecordedRun {
  const all = { ...noCounts(), ...counts };
  const outcome = error ? "failed" : runOutcome(all);
  const result = { outcome, counts: all, requests: 1, error };
  return { id: "1", command, startedAt: NOW, finishedAt: NOW, result };
}

/** The newest run first. */
function textAfter(runs: readonly RecordedRun[], failing = 0, held: LedgerStatus["held"] = null): string {
  const status: LedgerStatus = {
    groups: { total: 9, in_sync: 9, under_way: 0, failing, missing: 0, unverified: 0 },
    oldestToken: null,
    oldestUnsynced: null,
    held,
    failing: [],
    runs,
    lease: null,
    service: { baseUrl: null, teamId: null, updates: null },
  };
  return statusText(status, NOW, false);
}

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
