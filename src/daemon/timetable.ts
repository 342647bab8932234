import { createTask, type ParsedFields, parse, type ScheduledTask } from "node-cron";

export interface ScheduleSettings {
  /** A valid cron line, read in `timezone`. */
  readonly line: string;
  readonly timezone: string;
  /** Each tick is put off by a random part of this. */
  readonly jitterMs: number;
}

/** When the daemon is to sync. */
export interface Timetable {
  start(): void;
  stop(): void;
  /** The jitter comes on top. Null before the start and after the stop. */
  readonly next: Date | null;
  /** The longest pause between the ticks to come. */
  readonly periodMs: number;
}

/** A timetable by a cron line. */
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

  stop(): void {
    this.#isOn = false;
    clearInterval(this.#watch);
    void this.#task.destroy();
  }

  /** One that was put off may come after the stop. */
  #tick(): void {
    if (this.#isOn) this.#onTick();
  }

  /** node-cron waits for a time that it worked out before: where the clock is set back meanwhile, by that much too long. */
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
   * The machine slept over it: late is better than not at all, where the next one is a day away. One tick makes up for
   * all that were missed, which are told of at once.
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

/** In milliseconds: a tick is late by no more than this once the clock was set back. */
const CLOCK_WATCHED_EVERY = 60_000;

/** Without days on which it rests. */
const isEachHour = ({ hour, dayOfMonth, month, dayOfWeek }: ParsedFields): boolean =>
  hour.length === 24 && dayOfMonth.length === 31 && month.length === 12 && dayOfWeek.length === 7;

/**
 * Where such a zone sets its clocks back, node-cron has no tick in the first of the two hours that are called the same.
 * A line for each hour means the same in UTC.
 */
const hasWholeHours = (timeZone: string): boolean =>
  [0, 6].every((month) => {
    const fullHour = Date.UTC(new Date().getUTCFullYear(), month);
    return new Intl.DateTimeFormat("en", { timeZone, minute: "numeric" }).format(fullHour) === "0";
  });

const FEWEST_AHEAD = 50;
/** Each takes some 30 µs. */
const MOST_AHEAD = 5_000;
const DAYS_AHEAD = 8;

/** So many ticks that the pause over a night and a weekend is among them, where the line has such pauses. */
function lookedAhead(fields: ParsedFields): number {
  const { second, minute, hour } = fields;
  const hours = isEachHour(fields) ? 2 : DAYS_AHEAD * hour.length;
  return Math.min(MOST_AHEAD, Math.max(FEWEST_AHEAD, hours * minute.length * second.length));
}

/** What it has to say of missed ticks is said by the ticks themselves. */
const SILENT = { info: () => {}, warn: () => {}, error: () => {}, debug: () => {} };
