import { Cron } from "croner";

export interface ScheduleSettings {
  /** A valid cron line, read in `timezone`. */
  readonly line: string;
  readonly timezone: string;
  /** Each scheduled time is delayed by a random time up to this. */
  readonly jitterMs: number;
}

/** Tells the daemon when to sync. */
export interface Timetable {
  start(): void;
  stop(): void;
  /** The next scheduled time, without its jitter. Null before `start()` and after `stop()`. */
  readonly next: Date | null;
  /** The scheduled time that is `count` scheduled times after this time, with the longest jitter; null if there is none. */
  after(time: Date, count: number): Date | null;
}

/** How often to look at the clock, in milliseconds: a scheduled time is late by no more than this if somebody sets the clock. */
const LONGEST_SLEEP = 60_000;

/** A timetable from a cron line. */
export class CronTimetable implements Timetable {
  readonly #dueTimes: Cron;
  readonly #jitterMs: number;
  readonly #onDue: () => void;
  #next: Date | null = null;
  #timer: NodeJS.Timeout | undefined;
  readonly #delayed = new Set<NodeJS.Timeout>();

  constructor(settings: ScheduleSettings, onDue: () => void) {
    this.#dueTimes = dueTimesOf(settings);
    this.#jitterMs = settings.jitterMs;
    this.#onDue = onDue;
  }

  get next(): Date | null {
    return this.#next;
  }

  after(time: Date, count: number): Date | null {
    const last = this.#dueTimes.nextRuns(count, time)[count - 1];
    return last === undefined ? null : new Date(last.getTime() + this.#jitterMs);
  }

  start(): void {
    this.#sleep(Date.now());
  }

  stop(): void {
    clearTimeout(this.#timer);
    for (const timer of this.#delayed) clearTimeout(timer);
    this.#delayed.clear();
    this.#next = null;
  }

  #sleep(now: number): void {
    this.#next ??= this.#dueTimes.nextRun(new Date(now));
    // A line whose day never comes is no valid line.
    const ms = this.#next === null ? LONGEST_SLEEP : Math.min(LONGEST_SLEEP, this.#next.getTime() - now);
    this.#timer = setTimeout(() => this.#wake(now), Math.max(0, ms));
  }

  /** After a sleep of the machine, one scheduled time stands for all that have passed. After the clock was set back, look again. */
  #wake(asleepSince: number): void {
    const now = Date.now();
    const isDue = this.#next !== null && now >= this.#next.getTime();
    if (isDue || now < asleepSince) this.#next = null;
    this.#sleep(now);
    if (isDue) this.#due();
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
  new Cron(line, { timezone, paused: true });
