import { Cron } from "croner";

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
  /** The tick that is `count` ticks after this time, with the longest jitter; null if there is none. */
  after(time: Date, count: number): Date | null;
}

/** How often to look at the clock, in milliseconds: a tick is late by no more than this if somebody sets the clock. */
const LONGEST_SLEEP = 60_000;

/** A timetable from a cron line. */
export class CronTimetable implements Timetable {
  readonly #tickAfter: TickAfter;
  readonly #jitterMs: number;
  readonly #onTick: () => void;
  #next: Date | null = null;
  #timer: NodeJS.Timeout | undefined;
  readonly #delayed = new Set<NodeJS.Timeout>();

  constructor(settings: ScheduleSettings, onTick: () => void) {
    this.#tickAfter = tickAfter(settings);
    this.#jitterMs = settings.jitterMs;
    this.#onTick = onTick;
  }

  get next(): Date | null {
    return this.#next;
  }

  after(time: Date, count: number): Date | null {
    const tick = nextTicks(this.#tickAfter, time, count)[count - 1];
    return tick === undefined ? null : new Date(tick.getTime() + this.#jitterMs);
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
    this.#next ??= this.#tickAfter(new Date(now));
    // A line whose day never comes is no valid line.
    const ms = this.#next === null ? LONGEST_SLEEP : Math.min(LONGEST_SLEEP, this.#next.getTime() - now);
    this.#timer = setTimeout(() => this.#wake(now), Math.max(0, ms));
  }

  /** After a sleep of the machine, one tick stands for all that have passed. After the clock was set back, look again. */
  #wake(asleepSince: number): void {
    const now = Date.now();
    const isDue = this.#next !== null && now >= this.#next.getTime();
    if (isDue || now < asleepSince) this.#next = null;
    this.#sleep(now);
    if (isDue) this.#tick();
  }

  #tick(): void {
    if (this.#jitterMs === 0) {
      this.#onTick();
      return;
    }
    const timer = setTimeout(() => {
      this.#delayed.delete(timer);
      this.#onTick();
    }, Math.random() * this.#jitterMs);
    this.#delayed.add(timer);
  }
}

/** The first tick after a time; null if there is none. */
type TickAfter = (time: Date) => Date | null;

/** The first `count` ticks after this time. */
export function nextTicks(tickAfter: TickAfter, time: Date, count: number): readonly Date[] {
  const ticks: Date[] = [];
  for (let at = tickAfter(time); at !== null && ticks.length < count; at = tickAfter(at)) ticks.push(at);
  return ticks;
}

/**
 * Computes the ticks of a line. A line names times on the wall clock of its zone. When that clock
 * is set, a line goes on as the cron of Debian and Vixie does:
 *
 * | the line's hour  | an hour that comes twice | an hour that is left out         |
 * |------------------|--------------------------|----------------------------------|
 * | begins with `*`  | has its ticks both times | has none                         |
 * | names its hours  | has its ticks the first  | has one tick right after it, for |
 * |                  | time                     | all that it would have had       |
 */
export function tickAfter({ line, timezone }: Pick<ScheduleSettings, "line" | "timezone">): TickAfter {
  // In UTC, which is never set: the wall clock's times are reckoned as if they were UTC.
  const pattern = new Cron(line, { timezone: "UTC", paused: true });
  const nextWall = (wall: number): number | null => pattern.nextRun(new Date(wall))?.getTime() ?? null;
  const zone = new Zone(timezone);
  const next = isAnyHour(line) ? nextOfAnyHour : nextOfFixedHours;
  return (time) => {
    const at = next(time.getTime(), nextWall, zone);
    return at === null ? null : new Date(at);
  };
}

function isAnyHour(line: string): boolean {
  const fields = line.trim().split(/\s+/);
  const [hour = "*"] = fields.slice(fields.length > 5 ? 2 : 1);
  return line.includes("@hourly") || (!line.includes("@") && hour.startsWith("*"));
}

type NextWall = (wall: number) => number | null;

function nextOfAnyHour(after: number, nextWall: NextWall, zone: Zone): number | null {
  let from = after;
  let offset = zone.offset(after);
  for (;;) {
    const wall = nextWall(from + offset);
    if (wall === null) return null;
    const at = wall - offset;
    const change = zone.changeIn(from, at, offset);
    if (change === null) return at;
    from = change - 1;
    offset = zone.offset(change);
  }
}

function nextOfFixedHours(after: number, nextWall: NextWall, zone: Zone): number | null {
  for (let wall = zone.latestWall(after); ; ) {
    const next = nextWall(wall);
    if (next === null) return null;
    const at = zone.firstInstant(next);
    if (at > after) return at;
    wall = next;
  }
}

const DAY = 86_400_000;

/** The wall clock of a time zone. A wall time is the number of milliseconds that it would be in UTC. */
class Zone {
  readonly #format: Intl.DateTimeFormat;

  constructor(timeZone: string) {
    this.#format = new Intl.DateTimeFormat("en", { timeZone, timeZoneName: "longOffset" });
  }

  /** How far the wall clock is ahead of UTC at this instant, in milliseconds. */
  offset(instant: number): number {
    const name = this.#format.formatToParts(instant).find(({ type }) => type === "timeZoneName")?.value;
    const [, sign, hours, minutes, seconds] = /([+-])(\d+):(\d+)(?::(\d+))?$/.exec(name ?? "") ?? [];
    const ms = ((Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60 + Number(seconds ?? 0)) * 1_000;
    return sign === "-" ? -ms : ms;
  }

  /** The first instant after `from`, up to `to`, with another offset than this; null if there is none. */
  changeIn(from: number, to: number, offset: number): number | null {
    for (let before = from; before < to; before += DAY) {
      let same = before;
      let other = Math.min(before + DAY, to);
      if (this.offset(other) === offset) continue;
      while (other - same > 1) {
        const middle = Math.floor((same + other) / 2);
        if (this.offset(middle) === offset) same = middle;
        else other = middle;
      }
      return other;
    }
    return null;
  }

  /** The latest time that the wall clock has shown up to this instant, within the last day. */
  latestWall(instant: number): number {
    const offset = this.offset(instant - DAY);
    const change = this.changeIn(instant - DAY, instant, offset);
    const now = instant + this.offset(instant);
    return change === null ? now : Math.max(now, change - 1 + offset);
  }

  /** When the wall clock first shows this time; if it leaves this time out, when it is set. */
  firstInstant(wall: number): number {
    const before = this.offset(wall - DAY);
    const after = this.offset(wall + DAY);
    for (const offset of [before, after]) if (this.offset(wall - offset) === offset) return wall - offset;
    return this.changeIn(wall - after, wall - before, before) ?? wall - before;
  }
}
