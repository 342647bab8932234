import {
  type ChangePosition,
  type ChangeWindow,
  isFlood,
  lowered,
  MOST_ROWS,
  nextPoll,
  openWindow,
  type PollTime,
  polled,
  reopenWindow,
} from "../../core/changes/change-window.ts";
import { ANYTHING, CHANGES_NOT_INDEXED, type Notice } from "../../core/changes/notice.ts";
import { WakeableSleep } from "../../engine/serving/wakeable-sleep.ts";
import type { ChangeFeed, ChangeReader } from "../../ports/change-feed.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";

interface PollerPorts {
  readonly feed: ChangeFeed;
  readonly everyMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** One connection of the poller. */
interface Polling {
  /** The table that the last sync read. */
  readonly before: string | null | undefined;
  /** Takes what is new. */
  readonly onNews: (notices: readonly Notice[]) => void;
  readonly works: () => void;
  readonly stop: AbortSignal;
}

/** The shortest pause between two lookups, in milliseconds, however often somebody asks for one. */
const SHORTEST_PAUSE = 50;
/** Without an index, lookups take at most a tenth of the time. */
const PAUSES_PER_LOOKUP = 9;

/** Asks the change column for its newest rows, one lookup at a time. */
export class Poller {
  readonly #ports: PollerPorts;
  readonly #sleep: WakeableSleep;
  /** Kept while there is no connection, so that the next lookup finds what has changed meanwhile. */
  readonly #lookups: ColumnLookups;
  #type: string | undefined;
  /** What would help, null if there is an index, and undefined if nobody has asked yet. */
  #missingIndex: string | null | undefined;
  #hasWarned = false;
  #isSyncOver = false;

  constructor(ports: PollerPorts) {
    this.#ports = ports;
    this.#sleep = new WakeableSleep(ports.clock);
    this.#lookups = new ColumnLookups(ports.clock);
  }

  /** The newest value of the column, as far as a lookup has found it. */
  get newest(): string | null {
    return this.#lookups.newest;
  }

  /** Looks up as soon as the pause that the database is owed is over, and not at the end of the period. */
  lookUpNow(): void {
    this.#sleep.wake();
  }

  /** A full sync has ended: asks again whether the newest value is still there, and whether there is an index. */
  syncEnded(): void {
    this.#isSyncOver = true;
  }

  /** Looks up over one connection until `stop` aborts. Rejects as `ChangeFeed` does. */
  async poll({ before, onNews, works, stop }: Polling): Promise<void> {
    const { feed, clock } = this.#ports;
    const reader = await feed.open(stop, before);
    try {
      // Somebody has altered the column: begin anew, as at the start.
      if (reader.type !== this.#type) this.#lookups.forget();
      this.#type = reader.type;
      while (!stop.aborted) {
        const begun = clock.monotonic();
        onNews(await this.#lookups.lookUp(reader));
        await this.#afterSync(reader);
        works();
        await this.#pause(clock.monotonic() - begun, stop);
      }
    } finally {
      await reader.close();
    }
  }

  async #afterSync(reader: ChangeReader): Promise<void> {
    if (this.#isSyncOver) {
      await this.#lookups.goDown(reader);
      if (this.#missingIndex !== null) this.#missingIndex = undefined;
      this.#isSyncOver = false;
    }
    // Of an empty column nobody can tell.
    const { position } = this.#lookups;
    if (position !== undefined && this.#missingIndex === undefined)
      this.#missingIndex = await reader.missingIndex(position);
  }

  async #pause(took: number, stop: AbortSignal): Promise<void> {
    const { clock, everyMs } = this.#ports;
    const ration = this.#missingIndex ? PAUSES_PER_LOOKUP * took : 0;
    if (took + ration > everyMs) this.#warnOfRation();
    const owed = Math.max(SHORTEST_PAUSE, ration);
    await clock.sleep(owed, stop);
    await this.#sleep.sleep(everyMs - took - owed, stop);
  }

  #warnOfRation(): void {
    if (!this.#missingIndex || this.#hasWarned) return;
    this.#hasWarned = true;
    this.#ports.log({ level: "warn", ...CHANGES_NOT_INDEXED, hint: this.#missingIndex });
  }
}

/** Looks the newest rows of the change column up, and remembers what it has seen while readers come and go. */
class ColumnLookups {
  readonly #clock: Clock;
  #window: ChangeWindow | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Where the next lookup begins; undefined if no row has had a value yet. */
  get position(): ChangePosition | undefined {
    return this.#window === undefined || this.#window.newest === null ? undefined : nextPoll(this.#window);
  }

  /** The newest value that any row had at the last lookup; null if no row has had one. */
  get newest(): string | null {
    return this.#window?.newest ?? null;
  }

  /** The next lookup is the first one again. */
  forget(): void {
    this.#window = undefined;
  }

  /** Returns the news. Nothing is known before the first lookup, so anything is. After a rejection the news come again. */
  async lookUp(reader: ChangeReader): Promise<readonly Notice[]> {
    if (this.#window === undefined) {
      this.#window = await this.#opened(reader);
      return [ANYTHING];
    }
    const from = nextPoll(this.#window);
    const [rows, time] = await this.#timed(() => reader.rows(from, MOST_ROWS + 1));
    if (isFlood(rows)) {
      this.#window = await this.#reopened(reader);
      return [ANYTHING];
    }
    const { window, notices } = polled(this.#window, rows, time);
    this.#window = window;
    // Perhaps the newest value is gone, and would hide all rows below it.
    if (rows.length === 0) await this.goDown(reader);
    return notices;
  }

  /** Goes down to the newest value that there is, if the one from which the lookups begin is gone. */
  async goDown(reader: ChangeReader): Promise<void> {
    const newest = await reader.newest();
    if (newest !== null && this.#window !== undefined)
      this.#window = lowered(this.#window, newest, this.#clock.monotonic());
  }

  async #opened(reader: ChangeReader): Promise<ChangeWindow> {
    const newest = await reader.newest();
    const from = newest && { value: newest.before, isIncluded: true };
    const [rows, time] = await this.#timed(() => reader.rows(from, MOST_ROWS + 1));
    return isFlood(rows) ? this.#reopened(reader) : openWindow(newest, rows, time);
  }

  async #reopened(reader: ChangeReader): Promise<ChangeWindow> {
    const [newest, time] = await this.#timed(() => reader.newest());
    return reopenWindow(newest, time);
  }

  async #timed<T>(ask: () => Promise<T>): Promise<[T, PollTime]> {
    const begun = this.#clock.monotonic();
    const answer = await ask();
    return [answer, { begun, ended: this.#clock.monotonic() }];
  }
}
