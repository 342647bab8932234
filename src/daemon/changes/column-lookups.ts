import {
  type ChangedRow,
  type ChangePosition,
  type ChangeWindow,
  compareValues,
  isAtNewest,
  isFarBeyond,
  isFlood,
  type LookTime,
  looked,
  MOST_ROWS,
  nextLook,
  openWindow,
  reopenWindow,
  windowBelow,
} from "../../core/changes/change-window.ts";
import { ANYTHING, type Notice } from "../../core/changes/notice.ts";
import { printableId } from "../../core/text/printable.ts";
import type { ChangeReader } from "../../ports/change-feed.ts";
import type { Clock } from "../../ports/clock.ts";
import type { WayError } from "./way-state.ts";

/** What the looks have come to. */
interface Watched {
  readonly window: ChangeWindow;
  /** What is below the newest value. Undefined while `window` itself covers that. */
  readonly below: ChangeWindow | undefined;
  readonly warning: WayError | null;
}

interface Look {
  readonly window: ChangeWindow;
  /** Undefined if they were too many. */
  readonly rows: readonly ChangedRow[] | undefined;
  readonly notices: readonly Notice[];
}

/** Looks at the change column, and remembers what it has seen while readers come and go. */
export class ColumnLooks {
  readonly #clock: Clock;
  #watched: Watched | undefined;
  #isSyncOver = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What is wrong with the newest value. */
  get warning(): WayError | null {
    return this.#watched?.warning ?? null;
  }

  /** Where the next look begins; undefined if no row has had a value yet. */
  get position(): ChangePosition | undefined {
    const window = this.#watched?.window;
    return window === undefined || window.newest === null ? undefined : nextLook(window);
  }

  get hasLooked(): boolean {
    return this.#watched !== undefined;
  }

  /** The next look is the first one again. */
  forget(): void {
    this.#watched = undefined;
  }

  /** A full sync has ended: asks once whether the newest value is still there. */
  syncEnded(): void {
    this.#isSyncOver = true;
  }

  /** Returns the news. Nothing is known before the first look, so anything is. After a rejection the news come again. */
  async look(reader: ChangeReader): Promise<readonly Notice[]> {
    const former = this.#watched;
    if (former === undefined) {
      const window = await this.#opened(null, reader);
      const below = window.newest === null ? undefined : await this.#opened(window.newest, reader);
      this.#watched = { window, below, warning: null };
      return [ANYTHING];
    }
    const above = await this.#lookIn(former.window, reader);
    const { window } = above;
    const isSame = window.newest === former.window.newest;
    const under = isSame && former.below ? await this.#lookIn(former.below, reader) : undefined;
    const notices = [...above.notices, ...(under?.notices ?? [])];
    let watched: Watched | undefined = {
      window,
      below: under?.window ?? (await this.#below(former.window, above, reader)),
      warning: isSame ? former.warning : null,
    };
    const hasRowsBelow = under !== undefined && under.notices.length > 0;
    if (watched.below && (hasRowsBelow || this.#isSyncOver)) {
      watched = await this.#reconsidered(watched, watched.below, hasRowsBelow, reader);
      this.#isSyncOver = false;
    }
    this.#watched = watched;
    return notices;
  }

  async #lookIn(window: ChangeWindow, reader: ChangeReader): Promise<Look> {
    const [rows, time] = await this.#timed(() => reader.rows(nextLook(window), MOST_ROWS + 1, window.below));
    if (!isFlood(rows)) return { ...looked(window, rows, time), rows };
    return { window: await this.#reopened(window.below, reader), rows: undefined, notices: [ANYTHING] };
  }

  /** The window for what the next look would not find, because it begins at the newest value. */
  async #below(
    former: ChangeWindow,
    { window, rows }: Look,
    reader: ChangeReader,
  ): Promise<ChangeWindow | undefined> {
    if (!isAtNewest(window)) return undefined;
    return (rows && windowBelow(former, window, rows)) ?? this.#opened(window.newest, reader);
  }

  /**
   * Asks for the newest value again. If it is gone, the looks go down to what is below it. Undefined if even that is gone:
   * then the looks begin anew.
   */
  async #reconsidered(
    watched: Watched,
    below: ChangeWindow,
    hasRowsBelow: boolean,
    reader: ChangeReader,
  ): Promise<Watched | undefined> {
    const { newest } = watched.window;
    const there = await reader.newest(null);
    if (there === null || newest === null) return undefined;
    const { value, user_group_id } = there;
    if (compareValues(value, newest) < 0) {
      if (below.newest !== null && compareValues(value, below.newest) < 0) return undefined;
      return { window: { ...below, below: null }, below: undefined, warning: null };
    }
    const isFar =
      value === newest && hasRowsBelow && below.newest !== null && isFarBeyond(value, below.newest);
    return isFar ? { ...watched, warning: farAhead(value, user_group_id) } : watched;
  }

  async #opened(below: string | null, reader: ChangeReader): Promise<ChangeWindow> {
    const newest = await reader.newest(below);
    const from = newest && { value: newest.before, isIncluded: true };
    const [rows, time] = await this.#timed(() => reader.rows(from, MOST_ROWS + 1, below));
    return isFlood(rows) ? this.#reopened(below, reader) : openWindow(newest, rows, time, below);
  }

  async #reopened(below: string | null, reader: ChangeReader): Promise<ChangeWindow> {
    const newest = await reader.newest(below);
    const from = newest && { value: newest.value, isIncluded: true };
    const [rows, time] = await this.#timed(() => reader.rows(from, MOST_ROWS + 1, below));
    return reopenWindow(newest, rows, time, below);
  }

  async #timed<T>(ask: () => Promise<T>): Promise<[T, LookTime]> {
    const begun = this.#clock.monotonic();
    const answer = await ask();
    return [answer, { begun, ended: this.#clock.monotonic() }];
  }
}

const farAhead = (value: string, user_group_id: string | null): WayError => ({
  code: "CHANGES_FAR_AHEAD",
  message: `the value of source.changes.column of ${printableId(user_group_id)} is ${value}, far beyond the values that were written after it`,
  hint: "write the right value into this row; groupsync looks below one such value, and not below two",
});
