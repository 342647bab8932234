import type { RunOutcome } from "../../core/outcome.ts";
import type { RecordedRun } from "../../ports/ledger.ts";

/** `unfinished`: killed, or ended without a word. */
export type Ending = RunOutcome | "unfinished";

/** The worst last. */
export const ENDINGS: readonly Ending[] = ["ok", "partial", "held", "unfinished", "failed"];

/** The runs that began in the same part of time. */
export interface RunTally {
  readonly runs: number;
  readonly endings: Readonly<Record<Ending, number>>;
  /** Null where none of them reached its end. */
  readonly longestMs: number | null;
}

export interface Day {
  /** Midnight in UTC. */
  readonly start: Date;
  readonly tally: RunTally;
  /** All 24, of which those without a run are null. */
  readonly hours: readonly (RunTally | null)[];
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/**
 * Sums up runs by the day and the hour, in UTC: the last `count` days up to and with that of `now`. A run that goes
 * on has not ended in any way, and is left out.
 */
export function daysOf(runs: readonly RecordedRun[], now: Date, count: number, goesOn: string | null): Day[] {
  const today = Math.floor(now.getTime() / DAY) * DAY;
  const ended = runs.filter(({ id }) => id !== goesOn);
  const byDay = groupBy(ended, (run) => Math.floor(run.startedAt.getTime() / DAY) * DAY);
  return Array.from({ length: count }, (_, index) => {
    const start = today - (count - 1 - index) * DAY;
    const ofDay = byDay.get(start) ?? [];
    const byHour = groupBy(ofDay, (run) => Math.floor((run.startedAt.getTime() - start) / HOUR));
    const hours = Array.from({ length: 24 }, (_, hour) => {
      const ofHour = byHour.get(hour);
      return ofHour ? tallyOf(ofHour) : null;
    });
    return { start: new Date(start), tally: tallyOf(ofDay), hours };
  });
}

function tallyOf(runs: readonly RecordedRun[]): RunTally {
  const endings: Record<Ending, number> = { ok: 0, partial: 0, held: 0, unfinished: 0, failed: 0 };
  let longestMs: number | null = null;
  for (const { startedAt, finishedAt, result } of runs) {
    endings[result?.outcome ?? "unfinished"]++;
    if (finishedAt) longestMs = Math.max(longestMs ?? 0, finishedAt.getTime() - startedAt.getTime());
  }
  return { runs: runs.length, endings, longestMs };
}

/** How the worst of them ended. */
export const worstOf = ({ endings }: RunTally): Ending =>
  ENDINGS.findLast((ending) => endings[ending] > 0) ?? "ok";

function groupBy<T>(items: readonly T[], keyOf: (item: T) => number): Map<number, T[]> {
  const groups = new Map<number, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}
