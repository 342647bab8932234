import { durationText } from "../../core/text/duration.ts";
import type { DaemonState } from "./state.ts";

interface Readiness {
  readonly isReady: boolean;
  /** For an operator to read. */
  readonly reason: string;
}

type RunState = Pick<DaemonState, "lastGoodSync" | "staleAfterMs" | "lastRun" | "standby">;

/** Ready means that the last sync that reached its end, on any instance, is not older than `staleAfterMs`. */
export function readiness({ lastGoodSync, staleAfterMs, lastRun, standby }: RunState, now: Date): Readiness {
  const why = standby?.message ?? (lastRun?.outcome === "failed" ? lastRun.error?.message : undefined);
  const because = why === undefined ? "" : `: ${why}`;
  if (lastGoodSync === null) return { isReady: false, reason: `no sync has reached its end yet${because}` };
  const age = Math.max(0, now.getTime() - lastGoodSync.getTime());
  const ended = `the last sync that reached its end was ${durationText(age)} ago`;
  if (age <= staleAfterMs) return { isReady: true, reason: ended };
  return { isReady: false, reason: `${ended}, more than ${durationText(staleAfterMs)}${because}` };
}
