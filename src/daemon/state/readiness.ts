import { durationText } from "../../core/text/quantity.ts";
import { age, agoText, problemsOf } from "./problems.ts";
import type { DaemonState } from "./state.ts";

interface Readiness {
  readonly isReady: boolean;
  /** For an operator to read. It has codes only: a database's message may quote a tenant's text, and anybody may ask. */
  readonly reason: string;
}

/**
 * Ready means that the last sync that reached its end, on any instance, ended so lately that `staleAt` is not over. Whatever else is
 * wrong changes nothing about that: one group that fails must not hide from a monitor that nothing is synced any more. The
 * reason tells it.
 */
export function readiness(state: DaemonState, now: Date): Readiness {
  const isReady = state.lastGoodSync !== null && now <= state.staleAt;
  const wrong = problemsOf(state, now).flatMap(({ kind, sentence, discreet }) =>
    kind === "stale" ? [] : [`\n${discreet ?? sentence}`],
  );
  return { isReady, reason: lastSyncText(state, now) + wrong.join("") };
}

function lastSyncText({ lastGoodSync, staleAt, standby }: DaemonState, now: Date): string {
  const because = standby ? ": another instance holds the lease" : "";
  if (lastGoodSync === null) return `no sync has reached its end yet${because}`;
  const ended = `the last sync that reached its end was ${agoText(lastGoodSync, now)}`;
  return now <= staleAt
    ? ended
    : `${ended}, and has been too old for ${durationText(age(staleAt, now))}${because}`;
}
