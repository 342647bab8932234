import { createTask, type ParsedFields, parse, type ScheduledTask } from "node-cron";

export interface ScheduleSettings {
  /** A valid cron line, read in `timezone`. */
  readonly line: string;
  readonly timezone: string;
  /** Each tick is delayed by a random time up to this. */
  readonly jitterMs: number;
}

/** Tells the daemon when to sync. */
export interface Timetable {
  start(): void;
  stop(): void;
  /** The next tick, without its jitter. Null before `start()` and after `stop()`. */
  readonly next: Date | null;
  /** The longest pause between two of the next ticks, in milliseconds. */
  readonly periodMs: number;
}

/** A timetable from a cron line. */
export class CronTimetable implements Timetable {
  readonly #task: ScheduledTask;
  readonly #fields: ParsedFields;
  readonly #onTick: () => void;
  #isOn = false;
  #isLate = false;
  #watch: NodeJS.Timeout | undefined;

  constructor({ line, timezone, jitterMs }: ScheduleSettings, onTick: () => void) {
    this.#fields = parse(line);
    this.#onTick = onTick;
    const zone = isEachHour(this.#fields) && hasWholeHours(timezone) ? "UTC" : timezone;
    const options = { timezone: zone, maxRandomDelay: jitterMs, logger: SILENT };
    this.#task = createTask(line, () => this.#tick(), options);
    this.#task.on("execution:missed", () => this.#missed());
  }

  start(): void {
    this.#isOn = true;
    void this.#task.start();
    this.#watchClock();
  }

  get next(): Date | null {
    return this.#isOn ? this.#task.getNextRun() : null;
  }

  get periodMs(): number {
    const ticks = this.#task.getNextRuns(lookedAhead(this.#fields)).map((tick) => tick.getTime());
    return ticks.slice(1).reduce((longest, tick, n) => Math.max(longest, tick - (ticks[n] ?? tick)), 0);
  }

  /** The next ticks from now on, without their jitter, whether or not it was started. */
  nextTicks(count: number): readonly Date[] {
    return this.#task.getNextRuns(count);
  }

  stop(): void {
    this.#isOn = false;
    clearInterval(this.#watch);
    void this.#task.destroy();
  }

  /** A tick that waited for its jitter may come after `stop()`. */
  #tick(): void {
    if (this.#isOn) this.#onTick();
  }

  /**
   * Restarts node-cron if the clock is set back. It computes the time of the next tick beforehand, and would wait
   * longer by as much as the clock went back.
   */
  #watchClock(): void {
    let seen = Date.now();
    this.#watch = setInterval(() => {
      const now = Date.now();
      if (now < seen) {
        void this.#task.stop();
        void this.#task.start();
      }
      seen = now;
    }, CLOCK_WATCHED_EVERY);
  }

  /**
   * The machine was asleep at the time of a tick. Tick late rather than never, because the next tick may be a day away.
   * node-cron reports all missed ticks at once: one tick stands for all of them.
   */
  #missed(): void {
    if (this.#isLate) return;
    this.#isLate = true;
    queueMicrotask(() => {
      this.#isLate = false;
      this.#tick();
    });
  }
}

/** In milliseconds. A tick is late by no more than this after the clock is set back. */
const CLOCK_WATCHED_EVERY = 60_000;

/** Whether a line has ticks in every hour of every day. */
const isEachHour = ({ hour, dayOfMonth, month, dayOfWeek }: ParsedFields): boolean =>
  hour.length === 24 && dayOfMonth.length === 31 && month.length === 12 && dayOfWeek.length === 7;

/**
 * Whether the zone is whole hours away from UTC. When a zone sets its clocks back, one hour comes twice, and node-cron
 * has no ticks in the first of the two. A line with ticks in every hour means the same in UTC, which has no such hour.
 */
const hasWholeHours = (timeZone: string): boolean =>
  [0, 6].every((month) => {
    const fullHour = Date.UTC(new Date().getUTCFullYear(), month);
    return new Intl.DateTimeFormat("en", { timeZone, minute: "numeric" }).format(fullHour) === "0";
  });

const FEWEST_AHEAD = 50;
/** To compute one tick takes about 30 µs. */
const MOST_AHEAD = 5_000;
const DAYS_AHEAD = 8;

/** How many ticks to look at, so that the pause of a night or a weekend is among them. */
function lookedAhead(fields: ParsedFields): number {
  const { second, minute, hour } = fields;
  const hours = isEachHour(fields) ? 2 : DAYS_AHEAD * hour.length;
  return Math.min(MOST_AHEAD, Math.max(FEWEST_AHEAD, hours * minute.length * second.length));
}

/** Missed ticks are no errors here: `execution:missed` handles them. */
const SILENT = { info: () => {}, warn: () => {}, error: () => {}, debug: () => {} };
