import { expect, test } from "vitest";
import { noCounts } from "../../../src/core/report/counts.ts";
import type { ProblemCounts } from "../../../src/daemon/notifications/problems.ts";
import { problemsOfRun } from "../../../src/daemon/notifications/problems-of-run.ts";

const counts = { ...noCounts(), held: 5, failed: 2, rejected: 1 };
const WORKING = { program: 0, ledger: 0, stores: 0, service: 0 };

test.each<["ok" | "partial" | "held" | "failed", string | null, ProblemCounts]>([
  ["ok", null, { ...WORKING, source: 0, held: 5, failing: 2, rejected: 1 }],
  ["partial", null, { ...WORKING, source: 0, held: 5, failing: 2, rejected: 1 }],
  ["held", "DELETIONS_HELD", { ...WORKING, source: 0, held: 5, failing: 2, rejected: 1 }],
  ["held", "SOURCE_INCONCLUSIVE", { ...WORKING, source: 1, failing: 2, rejected: 1 }],
  ["failed", "SOURCE_UNAVAILABLE", { program: 0, ledger: 0, source: 1 }],
  ["failed", "SERVICE_UNAVAILABLE", { program: 0, ledger: 0, source: 0, service: 1 }],
  ["failed", "KEY_REFUSED", { program: 0, ledger: 0, source: 0, service: 1 }],
  ["failed", "INTERMEDIARY_REFUSED", { program: 0, ledger: 0, source: 0, service: 1 }],
  ["failed", "TEAM_CHANGED", { program: 0, ledger: 0, source: 0, service: 1 }],
  ["failed", "TOKEN_STORE_BUSY", { program: 0, ledger: 0, stores: 1 }],
  ["failed", "LEDGER_UNAVAILABLE", { program: 0, ledger: 1 }],
  ["failed", "LEASE_LOST", { program: 0, ledger: 1 }],
  ["failed", "COMMITS_LOST", { program: 0, ledger: 1 }],
  ["failed", "CONFIG_INVALID", { program: 1 }],
  ["failed", "INTERNAL", { program: 1 }],
  ["failed", null, { program: 1 }],
  ["failed", "INTERRUPTED", {}],
  ["failed", "LEASE_HELD", {}],
])("a sync that is %s (%s) shows", (outcome, code, problems) => {
  const error = code === null ? null : { code, message: "it says why" };
  expect(problemsOfRun({ outcome, counts, error })).toEqual(problems);
});
