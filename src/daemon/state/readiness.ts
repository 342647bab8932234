import { durationText } from "../../core/text/duration.ts";
import { brokenWaysOf } from "./serving-state.ts";
import type { DaemonState } from "./state.ts";

type ReadinessFacts = Pick<DaemonState, "lastGoodSync" | "staleAfterMs" | "lastRun" | "standby" | "serving">;

interface Readiness {
  readonly isReady: boolean;
  /** For an operator to read. It has codes only: a database's message may quote a tenant's text, and anybody may ask. */
  readonly reason: string;
}

/**
 * Ready means that the last sync that reached its end, on any instance, is not older than `staleAfterMs`. A way of noticing
 * single tenants that doesn't work changes nothing about that, because full syncs find their changes. The reason tells it.
 */
export function readiness(state: ReadinessFacts, now: Date): Readiness {
  const { isReady, reason } = ofSyncs(state, now);
  const broken = brokenWaysOf(state.serving).map(
    ({ key, state: { since, error } }) =>
      `\n${key} has not worked for ${durationText(age(since, now))}, so what it would notice waits for the next full sync: ${error.code}`,
  );
  return { isReady, reason: reason + broken.join("") };
}

function ofSyncs({ lastGoodSync, staleAfterMs, lastRun, standby }: ReadinessFacts, now: Date): Readiness {
  const failure = lastRun?.outcome === "failed" ? lastRun.error?.code : undefined;
  const why = standby ? "another instance holds the lease" : failure;
  const because = why === undefined ? "" : `: ${why}`;
  if (lastGoodSync === null) return { isReady: false, reason: `no sync has reached its end yet${because}` };
  const ago = age(lastGoodSync, now);
  const ended = `the last sync that reached its end was ${durationText(ago)} ago`;
  if (ago <= staleAfterMs) return { isReady: true, reason: ended };
  return { isReady: false, reason: `${ended}, more than ${durationText(staleAfterMs)}${because}` };
}

const age = (since: Date, now: Date): number => Math.max(0, now.getTime() - since.getTime());
