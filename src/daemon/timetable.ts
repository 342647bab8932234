import { createTask, type ScheduledTask } from "node-cron";

export interface ScheduleSettings {
  /** A valid cron line, read in `timezone`. */
  readonly line: string;
  readonly timezone: string;
  /** Each tick is put off by a random part of this. */
  readonly jitterMs: number;
}

/** Enough to meet the pause over a night or a weekend, of a schedule that is not for every hour. */
const LOOKED_AHEAD = 50;

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

  constructor({ line, timezone, jitterMs }: ScheduleSettings, onTick: () => void) {
    this.#task = createTask(line, onTick, { timezone, maxRandomDelay: jitterMs, logger: SILENT });
    // The machine slept over it: late is better than not at all, where the next one is a day away.
    this.#task.on("execution:missed", onTick);
  }

  start(): void {
    void this.#task.start();
  }

  get next(): Date | null {
    return this.#task.getNextRun();
  }

  get periodMs(): number {
    const ticks = this.#task.getNextRuns(LOOKED_AHEAD).map((tick) => tick.getTime());
    return Math.max(...ticks.slice(1).map((tick, n) => tick - (ticks[n] ?? tick)));
  }

  stop(): void {
    void this.#task.destroy();
  }
}

/** What it has to say of missed ticks is said by the ticks themselves. */
const SILENT = { info: () => {}, warn: () => {}, error: () => {}, debug: () => {} };
