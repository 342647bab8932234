import { durationText } from "../core/progress.ts";
import type { DaemonState } from "./state.ts";

export interface Readiness {
  readonly isReady: boolean;
  /** In words for an operator. */
  readonly reason: string;
}

type Known = Pick<DaemonState, "lastGoodSync" | "staleAfterMs" | "lastRun" | "standby">;

/** Ready is who keeps its promise: the last sync that reached its end, of whichever instance, is not too old. */
export function readiness({ lastGoodSync, staleAfterMs, lastRun, standby }: Known, now: Date): Readiness {
  const why = standby?.message ?? (lastRun?.outcome === "failed" ? lastRun.error?.message : undefined);
  const because = why === undefined ? "" : `: ${why}`;
  if (lastGoodSync === null) return { isReady: false, reason: `no sync has reached its end yet${because}` };
  const age = Math.max(0, now.getTime() - lastGoodSync.getTime());
  const ended = `the last sync that reached its end was ${durationText(age)} ago`;
  if (age <= staleAfterMs) return { isReady: true, reason: ended };
  return { isReady: false, reason: `${ended}, more than ${durationText(staleAfterMs)}${because}` };
}
