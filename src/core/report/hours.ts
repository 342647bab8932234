import { isHandOver, isInterruption } from "../failure/sync-error.ts";
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
  const numberOf = (date: Date): number => Math.floor(date.getTime() / HOUR);
  const last = numberOf(now);
  const byHour = new Map<number, PastRun[]>();
  for (const run of history) {
    const hour = numberOf(run.startedAt);
    byHour.set(hour, [...(byHour.get(hour) ?? []), run]);
  }
  const first = Math.max(last - most + 1, Math.min(last, ...byHour.keys()));
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const runs = byHour.get(first + index) ?? [];
    return { from: new Date((first + index) * HOUR), runs, worst: worstOf(runs, history[0]) };
  });
}

const BY_BADNESS = ["failed", "partial", "ok"] as const;

/** The newest run may go on still. */
function worstOf(runs: readonly PastRun[], newest: PastRun | undefined): Hour["worst"] {
  const found = new Set(runs.filter((run) => run.result || run !== newest).map(outcomeOf));
  return BY_BADNESS.find((outcome) => found.has(outcome)) ?? "none";
}

function outcomeOf({ result }: PastRun): Hour["worst"] {
  if (!result) return "failed";
  const { outcome, error } = result;
  if (error && (isInterruption(error) || isHandOver(error))) return "ok";
  return outcome === "held" ? "partial" : outcome;
}

/** How long a run took, in milliseconds; 0 if it has not ended. */
export const durationOf = ({ startedAt, finishedAt }: PastRun): number =>
  finishedAt ? age(startedAt, finishedAt) : 0;
