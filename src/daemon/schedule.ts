import { Cron } from "croner";

export interface ScheduleSettings {
  /** A valid cron line, read in `timezone`. */
  readonly line: string;
  readonly timezone: string;
  /** Each scheduled time is delayed by a random time up to this. */
  readonly jitterMs: number;
}

export type Timetable = ReturnType<typeof cronTimetable>;

/**
 * A timetable from a cron line. croner looks at the clock every 30 seconds: if somebody sets it, a scheduled time is late by no
 * more than this. After a sleep of the machine, one scheduled time stands for all that have passed.
 */
export function cronTimetable({ line, timezone, jitterMs }: ScheduleSettings, onDue: () => void) {
  const dueTimes = dueTimesOf({ line, timezone });
  const delayed = new Set<NodeJS.Timeout>();

  const due = (): void => {
    if (jitterMs === 0) {
      onDue();
      return;
    }
    const timer = setTimeout(() => {
      delayed.delete(timer);
      onDue();
    }, Math.random() * jitterMs);
    delayed.add(timer);
  };

  return {
    /** The next scheduled time, without its jitter. Null after `stop()`. */
    get next(): Date | null {
      return dueTimes.nextRun();
    },

    /** The scheduled time that is `count` scheduled times after this time, with the longest jitter; null if there is none. */
    after(time: Date, count: number): Date | null {
      const last = dueTimes.nextRuns(count, time)[count - 1];
      return last === undefined ? null : new Date(last.getTime() + jitterMs);
    },

    start(): void {
      dueTimes.schedule(due);
    },

    stop(): void {
      dueTimes.stop();
      for (const timer of delayed) clearTimeout(timer);
      delayed.clear();
    },
  };
}

/**
 * The times of a cron line, by the clock of its zone. If an hour comes twice, a line of one time a day is due in the first
 * pass, and any other line in both. If an hour is left out, a line of one time a day is due right after it, and any other line
 * is not due.
 */
export const dueTimesOf = ({ line, timezone }: Pick<ScheduleSettings, "line" | "timezone">): Cron =>
  new Cron(line, { timezone });
