import { isInterruption } from "../failure/sync-error.ts";
import { age } from "./incidents.ts";
import type { PastRun } from "./scope-facts.ts";

const HOUR = 3_600_000;

/** The runs that began in one hour. */
export interface Hour {
  readonly from: Date;
  readonly runs: readonly PastRun[];
  /** `none` if no run began; `held` counts as `partial`, and a run that was killed as `failed`. */
  readonly worst: "none" | "ok" | "partial" | "failed";
}

/** The last hours up to now, `most` of them, the oldest first. On the first day they begin with the first run. */
export function hoursOf(history: readonly PastRun[], now: Date, most: number): readonly Hour[] {
  const last = hourOf(now);
  const oldest = Math.min(last, ...history.map(({ startedAt }) => hourOf(startedAt)));
  const first = Math.max(last - most + 1, oldest);
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const runs = history.filter(({ startedAt }) => hourOf(startedAt) === first + index);
    // The newest run may go on still.
    const outcomes = runs.filter((run) => run.result || run !== history[0]).map(outcomeOf);
    const worst = BY_BADNESS.find((outcome) => outcomes.includes(outcome)) ?? "none";
    return { from: new Date((first + index) * HOUR), runs, worst };
  });
}

const hourOf = (date: Date): number => Math.floor(date.getTime() / HOUR);

const BY_BADNESS = ["failed", "partial", "ok"] as const;

function outcomeOf({ result }: PastRun): Hour["worst"] {
  if (!result) return "failed";
  const { outcome, error } = result;
  if (error && isInterruption(error)) return "ok";
  return outcome === "held" ? "partial" : outcome;
}

/** How long a run took, in milliseconds; 0 if it has not ended. */
export const durationOf = ({ startedAt, finishedAt }: PastRun): number =>
  finishedAt ? age(startedAt, finishedAt) : 0;
