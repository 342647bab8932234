import { expect, test } from "vitest";
import { noCounts } from "../../src/core/outcome.ts";
import { conditionOf, newsText } from "../../src/daemon/condition.ts";
import { aRunSummary } from "../builders/daemon-state.ts";

test.each([
  ["ok", null, "well"],
  ["partial", null, "partial"],
  ["held", "DELETIONS_HELD", "held"],
  ["failed", "LEDGER_UNAVAILABLE", "failing"],
  ["failed", null, "failing"],
  ["failed", "INTERRUPTED", undefined],
  ["failed", "LEASE_HELD", undefined],
  ["failed", "LEASE_LOST", "failing"],
] as const)("a run that is %s (%s) says: %s", (outcome, code, condition) => {
  const error = code === null ? null : { code, message: "it says why" };
  expect(conditionOf({ outcome, error })).toBe(condition);
});

const error = { code: "X", message: "it says why", hint: "what to do" };

test.each([
  ["well", aRunSummary(), "groupsync eu: recovered\nsync ok: 1 unchanged; 0 requests in 1.0 s"],
  [
    "partial",
    aRunSummary({ outcome: "partial", counts: { ...noCounts(), failed: 2 } }),
    "groupsync eu: some tenants are failing\nsync partial: 2 failed; 0 requests in 1.0 s\ngroupsync status names the groups that fail",
  ],
  [
    "partial",
    aRunSummary({ outcome: "partial", counts: { ...noCounts(), rejected: 1 } }),
    "groupsync eu: some tenants are failing\nsync partial: 1 rejected; 0 requests in 1.0 s\ngroupsync plan names the rows that are rejected",
  ],
  [
    "partial",
    aRunSummary({ outcome: "partial", counts: { ...noCounts(), rejected: 1, failed: 1 } }),
    "groupsync eu: some tenants are failing\nsync partial: 1 rejected, 1 failed; 0 requests in 1.0 s\ngroupsync status names the groups that fail\ngroupsync plan names the rows that are rejected",
  ],
  [
    "held",
    aRunSummary({ outcome: "held", counts: { ...noCounts(), held: 5 }, error }),
    "groupsync eu: deletions are held\nsync held: it says why (5 held; 0 requests in 1.0 s)\nwhat to do",
  ],
  [
    "failing",
    aRunSummary({
      outcome: "failed",
      counts: { ...noCounts(), failed: 1 },
      error: { code: "X", message: "it says why" },
    }),
    "groupsync eu: failing\nsync failed: it says why (1 failed; 0 requests in 1.0 s)\ngroupsync status names the groups that fail",
  ],
] as const)("what people are told when things are %s", (condition, run, text) => {
  expect(newsText("eu", condition, run)).toBe(text);
});
