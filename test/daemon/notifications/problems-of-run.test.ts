import { expect, test } from "vitest";
import { noCounts } from "../../../src/core/report/counts.ts";
import type { ProblemCounts } from "../../../src/daemon/notifications/problems.ts";
import { problemsOfRun, workingBy } from "../../../src/daemon/notifications/problems-of-run.ts";
import type { RunEvent } from "../../../src/ports/observer.ts";
import type { Served } from "../../../src/ports/serve-tenant.ts";

const counts = { ...noCounts(), held: 5, failed: 2, rejected: 1 };
const aServed = (served: Served): RunEvent => ({ kind: "served", user_group_id: "a", served, ms: 1 });
const aRecorded: RunEvent = {
  kind: "recorded",
  user_group_id: "a",
  result: "created",
  unverified: false,
  tokenFingerprint: "0",
};
const WORKING = { program: 0, ledger: 0, stores: 0, service: 0 };

test.each<["ok" | "partial" | "held" | "failed", string | null, ProblemCounts]>([
  ["ok", null, { ...WORKING, source: 0, clocks: 0, held: 5, failing: 2, rejected: 1 }],
  ["partial", null, { ...WORKING, source: 0, clocks: 0, held: 5, failing: 2, rejected: 1 }],
  ["partial", "CLOCK_DIFFERS", { ...WORKING, source: 0, clocks: 1, failing: 2, rejected: 1 }],
  ["held", "DELETIONS_HELD", { ...WORKING, source: 0, clocks: 0, held: 5, failing: 2, rejected: 1 }],
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
  expect(problemsOfRun({ outcome, counts, error }, new Set(["service", "stores"]))).toEqual(problems);
});

test.each<["service" | "stores"]>([["service"], ["stores"]])(
  "a good sync shows that the %s works only if that was seen",
  (kind) => {
    const shown = { program: 0, ledger: 0, source: 0, clocks: 0, held: 0, failing: 0, rejected: 0 };
    const good = { outcome: "ok", counts: noCounts(), error: null } as const;
    expect(problemsOfRun(good, new Set())).toEqual(shown);
    expect(problemsOfRun(good, new Set([kind]))).toEqual({ ...shown, [kind]: 0 });
  },
);

test.each<[RunEvent, readonly string[]]>([
  [aRecorded, ["service", "stores"]],
  [{ kind: "deleted", user_group_id: "a", absence: "absent" }, ["service", "stores"]],
  [{ kind: "refreshed", user_group_id: "a" }, ["service"]],
  [{ kind: "answered", at: new Date(0) }, ["service"]],
  [{ kind: "restored", user_group_id: "a" }, ["stores"]],
  [aServed({ kind: "done", outcome: "created" }), ["service", "stores"]],
  [aServed({ kind: "done", outcome: "restored" }), ["stores"]],
  [aServed({ kind: "done", outcome: "unchanged" }), []],
  [aServed({ kind: "failed", code: "KEY_REFUSED", message: "HTTP 401" }), []],
  [{ kind: "failed", user_group_id: "a", code: "REFUSED", message: "HTTP 422" }, []],
])("%j shows to work", (event, working) => {
  expect(workingBy(event)).toEqual(working);
});
