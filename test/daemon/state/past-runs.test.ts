import { expect, test } from "vitest";
import { pastRuns } from "../../../src/daemon/state/past-runs.ts";
import { aFinishedRun, aHealthyDaemon } from "../a-healthy-daemon.ts";

test("a run has the duration that the log has, without the wait for the lease", () => {
  const finishedAt = new Date("2026-03-01T12:01:00Z");
  const lastRun = aFinishedRun({
    startedAt: new Date("2026-03-01T12:00:00Z"),
    finishedAt,
    durationMs: 405,
  });
  const [last] = pastRuns(aHealthyDaemon({ lastRun, ledger: null }));
  expect(last?.startedAt).toEqual(new Date(finishedAt.getTime() - 405));
});
