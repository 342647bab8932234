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
import { ANYTHING, type Notice } from "../../core/changes/notice.ts";
import type { ChangeReader } from "../../ports/change-feed.ts";
import type { Clock } from "../../ports/clock.ts";

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
