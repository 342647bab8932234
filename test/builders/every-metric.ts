import { Metrics } from "../../src/daemon/metrics/metrics.ts";
import { aClock } from "../fakes/set-clock.ts";
import { aCurrentRun, aDaemonState, aLedgerSnapshot, aRecordedRun, aServingState } from "./daemon-state.ts";

/** The metrics of a daemon that knows all that a daemon can tell, in the text format of Prometheus. */
export function everyMetric(): Promise<string> {
  const state = aDaemonState({
    lastGoodSync: new Date("2026-03-01T00:00:01Z"),
    lastAnswer: new Date("2026-03-01T00:00:02Z"),
    current: aCurrentRun(),
    serving: aServingState(),
    ledger: aLedgerSnapshot({
      oldestUnsynced: new Date("2026-03-01T00:00:00Z"),
      history: [aRecordedRun()],
    }),
  });
  return new Metrics(() => state, aClock()).text();
}
