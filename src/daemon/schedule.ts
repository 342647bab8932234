import { Cron } from "croner";

export interface ScheduleSettings {
  /** A valid cron line, read in `timezone`. */
  readonly line: string;
  readonly timezone: string;
  /** Each scheduled time is delayed by a random time up to this. */
  readonly jitterMs: number;
}

export type Timetable = Pick<CronTimetable, "start" | "stop" | "next" | "after">;

/**
 * A timetable from a cron line. croner looks at the clock every 30 seconds: if somebody sets it, a scheduled time is late by no
 * more than this. After a sleep of the machine, one scheduled time stands for all that have passed.
 */
export class CronTimetable {
  readonly #dueTimes: Cron;
  readonly #jitterMs: number;
  readonly #onDue: () => void;
  readonly #delayed = new Set<NodeJS.Timeout>();

  constructor(settings: ScheduleSettings, onDue: () => void) {
    this.#dueTimes = dueTimesOf(settings);
    this.#jitterMs = settings.jitterMs;
    this.#onDue = onDue;
  }

  /** The next scheduled time, without its jitter. Null after `stop()`. */
  get next(): Date | null {
    return this.#dueTimes.nextRun();
  }

  /** The scheduled time that is `count` scheduled times after this time, with the longest jitter; null if there is none. */
  after(time: Date, count: number): Date | null {
    const last = this.#dueTimes.nextRuns(count, time)[count - 1];
    return last === undefined ? null : new Date(last.getTime() + this.#jitterMs);
  }

  start(): void {
    this.#dueTimes.schedule(() => this.#due());
  }

  stop(): void {
    this.#dueTimes.stop();
    for (const timer of this.#delayed) clearTimeout(timer);
    this.#delayed.clear();
  }

  #due(): void {
    if (this.#jitterMs === 0) {
      this.#onDue();
      return;
    }
    const timer = setTimeout(() => {
      this.#delayed.delete(timer);
      this.#onDue();
    }, Math.random() * this.#jitterMs);
    this.#delayed.add(timer);
  }
}

/**
 * The times of a cron line, by the clock of its zone. If an hour comes twice, a line of one time a day is due in the first
 * pass, and any other line in both. If an hour is left out, a line of one time a day is due right after it, and any other line
 * is not due.
 */
export const dueTimesOf = ({ line, timezone }: Pick<ScheduleSettings, "line" | "timezone">): Cron =>
  new Cron(line, { timezone });
