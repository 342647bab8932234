import { Metrics } from "../../src/daemon/metrics/metrics.ts";
import { aClock } from "../fakes/set-clock.ts";
import { aCurrentRun, aDaemonState, aLedgerStatus, aRecordedRun, aServingState } from "./daemon-state.ts";

/** The metrics of a daemon that knows all that a daemon can tell, in the text format of Prometheus. */
export function everyMetric(): Promise<string> {
  const state = aDaemonState({
    lastGoodSync: new Date("2026-03-01T00:00:01Z"),
    lastAnswer: new Date("2026-03-01T00:00:02Z"),
    current: aCurrentRun(),
    serving: aServingState(),
    ledger: aLedgerStatus({
      oldestUnsynced: new Date("2026-03-01T00:00:00Z"),
      runs: [aRecordedRun()],
    }),
  });
  return new Metrics(() => state, aClock()).text();
}
