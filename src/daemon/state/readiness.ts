import { healthOf, type Verdict } from "../../core/report/health.ts";
import { durationText } from "../../core/text/quantity.ts";
import { healthFacts } from "./health-facts.ts";
import { brokenWaysOf } from "./serving-state.ts";
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
  const { isReady, reason } = ofSyncs(state, now);
  const wrong = healthOf(healthFacts(state, now)).flatMap(({ kind, sentence }) =>
    TOLD_OTHERWISE.has(kind) ? [] : [`\n${sentence}`],
  );
  const broken = brokenWaysOf(state.serving).map(
    ({ key, state: { since, error } }) =>
      `\n${key} has not worked for ${durationText(age(since, now))}, so what it would notice waits for the next full sync: ${error.code}`,
  );
  return { isReady, reason: reason + [...wrong, ...broken].join("") };
}

/** What is no trouble, and a failed run, whose sentence quotes its error. */
const TOLD_OTHERWISE: ReadonlySet<Verdict["kind"]> = new Set(["failed", "empty", "running", "well"]);

function ofSyncs({ lastGoodSync, staleAt, lastRun, standby }: DaemonState, now: Date): Readiness {
  const failure = lastRun?.outcome === "failed" ? lastRun.error?.code : undefined;
  const why = standby ? "another instance holds the lease" : failure;
  const because = why === undefined ? "" : `: ${why}`;
  if (lastGoodSync === null) return { isReady: false, reason: `no sync has reached its end yet${because}` };
  const ago = age(lastGoodSync, now);
  const ended = `the last sync that reached its end was ${durationText(ago)} ago`;
  if (now <= staleAt) {
    const since = failure === undefined || standby ? "" : `; the last run failed: ${failure}`;
    return { isReady: true, reason: ended + since };
  }
  return {
    isReady: false,
    reason: `${ended}, and has been too old for ${durationText(age(staleAt, now))}${because}`,
  };
}

const age = (since: Date, now: Date): number => Math.max(0, now.getTime() - since.getTime());
