import { expect, test } from "vitest";
import { statusText } from "../../src/commands/status-text.ts";
import { type Counts, noCounts, runOutcome } from "../../src/core/outcome.ts";
import type { LedgerStatus } from "../../src/ports/ledger.ts";

const NOW = new Date("2026-03-01T12:00:00Z");

/** After one run that counted this. */
function verdictAfter(counts: Partial<Counts>, failing = 0, held: LedgerStatus["held"] = null): string {
  const all = { ...noCounts(), ...counts };
  const status: LedgerStatus = {
    groups: { total: 9, in_sync: 9, under_way: 0, failing, missing: 0, unverified: 0 },
    held,
    failing: [],
    runs: [
      {
        id: "1",
        command: "sync",
        startedAt: NOW,
        finishedAt: NOW,
        result: { outcome: runOutcome(all), counts: all, requests: 1, error: null },
      },
    ],
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
  expect(verdictAfter(counts, failing).split("\n")[0]).toBe(text);
});

test("what is held is listed with the command that approves it", () => {
  const groups = [
    { kind: "delete", user_group_id: "acme" },
    { kind: "replace", user_group_id: "globex" },
  ] as const;
  const text = verdictAfter({ held: 2 }, 0, { count: 2, code: "0123456789ab", groups });
  expect(text.split("\n")[0]).toBe("Needs attention: 2 removals held.");
  expect(text).toContain(`
Held
  delete acme
  replace globex
  if they are meant to go: groupsync sync --approve-deletions 0123456789ab
`);
});
