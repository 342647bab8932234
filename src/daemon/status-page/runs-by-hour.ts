import type { RunOutcome } from "../../core/report/counts.ts";
import type { RecordedRun } from "../../ports/ledger/scope.ts";
import { type PageTime, wallClock } from "./markup/number-and-time-text.ts";

/** `unfinished`: the ledger has no end of the run, for instance after a kill. */
export type Ending = RunOutcome | "unfinished";

/** From best to worst. */
export const ENDINGS: readonly Ending[] = ["ok", "partial", "held", "unfinished", "failed"];

/** The runs that began in the same hour, or on the same day. */
export interface RunsSummary {
  readonly runs: number;
  readonly endings: Readonly<Record<Ending, number>>;
  /** Null if no run reached its end. */
  readonly longestMs: number | null;
}

export interface Day {
  /** Midnight of this day's date in UTC, whatever the time zone. */
  readonly start: Date;
  readonly summary: RunsSummary;
  /** By the hours of the wall clock; null for an hour without a run. */
  readonly hours: readonly (RunsSummary | null)[];
}

const QUARTER = 900_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/**
 * Sums up runs by day and hour of the page's time zone: the last `count` days, today included. `goesOn` is the run that is
 * under way; it is left out, because it has no ending yet.
 */
export function runsByDay(
  runs: readonly RecordedRun[],
  at: PageTime,
  count: number,
  goesOn: string | null,
): Day[] {
  const clock = quickClock(at.timeZone);
  const today = Math.floor(clock(at.now) / DAY) * DAY;
  const ended = runs.filter(({ id }) => id !== goesOn);
  const byDay = groupBy(ended, (run) => Math.floor(clock(run.startedAt) / DAY) * DAY);
  return Array.from({ length: count }, (_, index) => {
    const start = today - (count - 1 - index) * DAY;
    const ofDay = byDay.get(start) ?? [];
    const byHour = groupBy(ofDay, (run) => Math.floor((clock(run.startedAt) - start) / HOUR));
    const hours = Array.from({ length: 24 }, (_, hour) => {
      const ofHour = byHour.get(hour);
      return ofHour ? summarize(ofHour) : null;
    });
    return { start: new Date(start), summary: summarize(ofDay), hours };
  });
}

/**
 * The wall clock of a time zone, in milliseconds. Asks once for each quarter of an hour, because a page may have thousands
 * of runs: all zones differ from UTC by whole quarters, and change their clocks at one.
 */
function quickClock(timeZone: string): (date: Date) => number {
  const shifts = new Map<number, number>();
  return (date) => {
    const quarter = Math.floor(date.getTime() / QUARTER) * QUARTER;
    const shift = shifts.get(quarter) ?? wallClock(new Date(quarter), timeZone).getTime() - quarter;
    shifts.set(quarter, shift);
    return date.getTime() + shift;
  };
}

function summarize(runs: readonly RecordedRun[]): RunsSummary {
  const endings: Record<Ending, number> = { ok: 0, partial: 0, held: 0, unfinished: 0, failed: 0 };
  let longestMs: number | null = null;
  for (const { startedAt, finishedAt, result } of runs) {
    endings[result?.outcome ?? "unfinished"]++;
    if (finishedAt) longestMs = Math.max(longestMs ?? 0, finishedAt.getTime() - startedAt.getTime());
  }
  return { runs: runs.length, endings, longestMs };
}

/** The worst ending among the runs. */
export const worstOf = ({ endings }: RunsSummary): Ending =>
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
