import { expect, test } from "vitest";
import { statusText } from "../../src/commands/status-text.ts";
import { type Counts, noCounts, runOutcome } from "../../src/core/outcome.ts";
import type { LedgerStatus } from "../../src/ports/ledger.ts";

const NOW = new Date("2026-03-01T12:00:00Z");

/** The first line, after one run that counted this. */
function verdictAfter(counts: Partial<Counts>, failing = 0): string | undefined {
  const all = { ...noCounts(), ...counts };
  const status: LedgerStatus = {
    groups: { total: 9, in_sync: 9, under_way: 0, failing, missing: 0, unverified: 0 },
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
  return statusText(status, NOW, false).split("\n")[0];
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
  expect(verdictAfter(counts, failing)).toBe(text);
});
