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
  readonly onNotice: (notice: Notice) => void;
  /** Called after each lookup that has worked. */
  readonly onWorking: () => void;
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
  /** What would help, null if there is an index, and undefined if nobody has asked yet. */
  #missingIndex: string | null | undefined;
  #hasWarned = false;

  constructor(ports: PollerPorts) {
    this.#ports = ports;
    this.#sleep = new WakeableSleep(ports.clock);
    this.#lookups = new ColumnLookups(ports.clock);
  }

  /** Looks up as soon as the pause that the database is owed is over, and not at the end of the period. */
  lookUpNow(): void {
    this.#sleep.wake();
  }

  /** A full sync has ended: asks again whether there is an index, if there was none. */
  syncEnded(): void {
    if (this.#missingIndex !== null) this.#missingIndex = undefined;
  }

  /** Looks up over one connection until `stop` aborts. Rejects as `ChangeFeed` does. */
  async poll({ before, onNotice, onWorking, stop }: Polling): Promise<void> {
    const { feed, clock } = this.#ports;
    const reader = await feed.open(stop, before);
    try {
      while (!stop.aborted) {
        const begun = clock.monotonic();
        for (const notice of await this.#lookups.lookUp(reader)) onNotice(notice);
        // Of an empty column nobody can tell.
        const { position } = this.#lookups;
        if (position !== undefined && this.#missingIndex === undefined)
          this.#missingIndex = await reader.missingIndex(position);
        onWorking();
        await this.#pause(clock.monotonic() - begun, stop);
      }
    } finally {
      await reader.close();
    }
  }

  async #pause(took: number, stop: AbortSignal): Promise<void> {
    const { clock, everyMs, log } = this.#ports;
    const ration = this.#missingIndex ? PAUSES_PER_LOOKUP * took : 0;
    if (this.#missingIndex && took + ration > everyMs && !this.#hasWarned) {
      this.#hasWarned = true;
      log({ level: "warn", ...CHANGES_NOT_INDEXED, hint: this.#missingIndex });
    }
    const owed = Math.max(SHORTEST_PAUSE, ration);
    await clock.sleep(owed, stop);
    await this.#sleep.sleep(everyMs - took - owed, stop);
  }
}

/** Looks the newest rows of the change column up, and remembers what it has seen while readers come and go. */
export class ColumnLookups {
  readonly #clock: Clock;
  #type: string | undefined;
  #window: ChangeWindow | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Where the next lookup begins; undefined if no row has had a value yet. */
  get position(): ChangePosition | undefined {
    return this.#window === undefined || this.#window.newest === null ? undefined : nextPoll(this.#window);
  }

  /** Returns the news. Nothing is known before the first lookup, so anything is. After a rejection the news come again. */
  async lookUp(reader: ChangeReader): Promise<readonly Notice[]> {
    // If somebody has altered the column, the lookup is the first one again.
    if (this.#window === undefined || reader.type !== this.#type) {
      this.#window = await this.#opened(reader);
      this.#type = reader.type;
      return [ANYTHING];
    }
    const [newest, { begun, ended }] = await this.#timed(() => reader.newest());
    // Perhaps the newest value is gone, and would hide all rows below it.
    const before = newest === null ? this.#window : lowered(this.#window, newest, ended);
    const from = nextPoll(before);
    // No row lies above the newest value, so a table in which nothing changes is asked for that value alone.
    const isAtNewest = newest === null || (from?.value === newest.value && !from.isIncluded);
    const rows = isAtNewest ? [] : await reader.rows(from, MOST_ROWS + 1);
    if (isFlood(rows)) {
      this.#window = await this.#reopened(reader);
      return [ANYTHING];
    }
    const { window, notices } = polled(before, rows, { begun, ended: this.#clock.monotonic() });
    this.#window = window;
    return notices;
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
