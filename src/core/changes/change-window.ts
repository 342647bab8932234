import { ANYTHING, type Notice } from "./notice.ts";

/**
 * Decides which rows of the change column (`source.changes.column`) to ask for, and which of the answered rows are news.
 *
 * A row's value is older than its commit: a transaction that takes a minute commits rows with values from its start. To
 * ask only for rows beyond the newest value would never find these rows. Each poll therefore begins at the value that
 * was the newest a while (`OVERLAP_MS`) before the last poll, and rows that the last poll answered are no news.
 *
 * | since the last poll                                    | the next poll asks for         | notices              |
 * |--------------------------------------------------------|--------------------------------|----------------------|
 * | rows with new values in the last `OVERLAP_MS`          | above the value before them    | rows not yet seen    |
 * | no new value for `OVERLAP_MS`                          | above the newest value         | every row            |
 * | more than `MOST_ROWS` rows in one poll: a flood        | above the newest value         | anything, and once   |
 * |                                                        |                                | more after the       |
 * |                                                        |                                | overlap              |
 *
 * A row is found by the first poll after its commit if it commits within a minute of its value's time. Later commits,
 * and values by a clock that runs behind, or below one that is far beyond all others, are left to the next full sync.
 *
 * All times are milliseconds of a monotonic clock.
 */
export interface ChangeWindow {
  /** The newest value that any poll has found; null if no row had one. */
  readonly newest: string | null;
  /** The newest values of earlier polls, oldest first. The first mark is where the next poll may begin. Never empty. */
  readonly marks: readonly Mark[];
  /** The versions of the rows that the last poll answered. */
  readonly seen: ReadonlySet<string>;
  /** When the last poll began: it can't have seen rows that were committed after this time. */
  readonly polledAt: number;
  /** When a full sync has to look again, because of rows below the newest value that were not committed in a flood. */
  readonly againAt: number | null;
}

interface Mark {
  /** The value was the newest before this time: rows that get their values later get no smaller ones. */
  readonly at: number;
  readonly value: string | null;
  /** The value may have too many rows to read them in each poll. */
  readonly isCrowded: boolean;
}

/** A row of the change column, as the database answers it. */
export interface ChangedRow {
  /** Null if the row has no id. */
  readonly user_group_id: string | null;
  /** The exact text of the value. Texts are equal if and only if the values are. */
  readonly value: string;
  /** Differs between two versions of a row that have the same value, such as two updates in one second. */
  readonly digest: string;
}

/** Where a poll begins. Null: at the lowest value that there is. */
export type ChangePosition = { readonly value: string; readonly isIncluded: boolean } | null;

/** The newest value, and the value that lies `OVERLAP_MS` before it. For a number they are the same. */
export interface NewestChange {
  readonly value: string;
  readonly before: string;
}

/** When a poll was sent to the database, and when its answer had come. */
export interface PollTime {
  readonly begun: number;
  readonly ended: number;
}

/** How far a value may be ahead of the database's clock. Rows further ahead are asked for when their time has come. */
export const MOST_AHEAD_MS = 10_000;
/** A minute for the commit, and what a clock may be ahead. */
export const OVERLAP_MS = 60_000 + MOST_AHEAD_MS;
/** The most rows of one poll, and the most versions that are remembered. */
export const MOST_ROWS = 10_000;
/** Keeps the marks few if polls are frequent. */
const MARK_EVERY_MS = 1_000;

/**
 * The window of the first poll. `rows` are those from `before` on. They are no news: a full sync that begins later finds
 * them.
 */
export function openWindow(
  newest: NewestChange | null,
  rows: readonly ChangedRow[],
  time: PollTime,
): ChangeWindow {
  return {
    newest: newest?.value ?? null,
    marks: [{ at: time.ended, value: newest?.before ?? null, isCrowded: false }],
    seen: versionsOf(rows),
    polledAt: time.begun,
    againAt: null,
  };
}

/** The window after a flood. The caller has to notice "anything" afterwards. */
export function reopenWindow(newest: NewestChange | null, { begun, ended }: PollTime): ChangeWindow {
  const value = newest?.value ?? null;
  return {
    newest: value,
    marks: [{ at: ended, value, isCrowded: true }],
    seen: new Set(),
    polledAt: begun,
    againAt: ended + OVERLAP_MS,
  };
}

export function nextPoll({ marks, polledAt }: ChangeWindow): ChangePosition {
  const start = marks[startOf(marks, polledAt)];
  if (start === undefined || start.value === null) return null;
  // By then, all rows with this value were committed and seen.
  const isOver = start.at <= polledAt - OVERLAP_MS;
  return { value: start.value, isIncluded: !isOver && !start.isCrowded };
}

/**
 * The window once the newest value is gone: its row was deleted, or a wrong value was put right.
 * The next poll begins there. `at` is when the database has answered it. The window stays if the value is no lower.
 */
export function lowered(window: ChangeWindow, { value, before }: NewestChange, at: number): ChangeWindow {
  if (!isBelow(value, window.newest)) return window;
  return { ...window, newest: value, marks: [{ at, value: before, isCrowded: false }] };
}

/** Whether a poll has answered too many rows to go through them singly. */
export const isFlood = (rows: readonly ChangedRow[]): boolean => rows.length > MOST_ROWS;

/** What a poll found. `rows` are in the order of their values. */
export function polled(
  window: ChangeWindow,
  rows: readonly ChangedRow[],
  { begun, ended }: PollTime,
): { readonly window: ChangeWindow; readonly notices: readonly Notice[] } {
  const isAgain = window.againAt !== null && begun >= window.againAt;
  const newest = rows.at(-1)?.value ?? window.newest;
  // If the rows with higher values are gone, so are their marks.
  const marks = window.marks.filter(({ value }) => !isBelow(newest, value));
  return {
    window: {
      newest,
      marks: marked(marks.slice(startOf(marks, begun)), newest, ended),
      seen: versionsOf(rows),
      polledAt: begun,
      againAt: isAgain ? null : window.againAt,
    },
    notices: [...news(rows, window.seen), ...(isAgain ? [ANYTHING] : [])],
  };
}

/** Ends with the mark of the newest value. */
function marked(marks: readonly Mark[], newest: string | null, at: number): readonly Mark[] {
  const last = marks.at(-1);
  const isSoon = last !== undefined && at - last.at < MARK_EVERY_MS;
  return last?.value === newest || isSoon ? marks : [...marks, { at, value: newest, isCrowded: false }];
}

/** Null is below all values. */
const isBelow = (one: string | null, other: string | null): boolean =>
  other !== null && (one === null || compareValues(one, other) < 0);

/** The index of the last mark that is old enough, or of the first mark. */
function startOf(marks: readonly Mark[], polledAt: number): number {
  return Math.max(
    0,
    marks.findLastIndex(({ at }) => at <= polledAt - OVERLAP_MS),
  );
}

/** One notice for each id. A row without an id can't be looked up: the full sync rejects it. */
function news(rows: readonly ChangedRow[], seen: ReadonlySet<string>): Notice[] {
  const ids = new Set<string>();
  for (const row of rows) {
    if (row.user_group_id !== null && !seen.has(versionOf(row))) ids.add(row.user_group_id);
  }
  return [...ids].map((user_group_id) => ({ kind: "tenant", user_group_id, feed: "column" }));
}

const versionsOf = (rows: readonly ChangedRow[]): ReadonlySet<string> => new Set(rows.map(versionOf));

/** The id is in the digest. */
const versionOf = ({ value, digest }: ChangedRow): string => `${value} ${digest}`;

/**
 * Compares two values of one change column by their texts: negative if the first is lower, 0 if they are equal. The texts are
 * numbers or times as the databases write them. Texts of times are ordered as the times are.
 */
export function compareValues(one: string, other: string): number {
  const first = NUMBER.exec(one);
  const second = NUMBER.exec(other);
  if (first && second) {
    const digits = Math.max(first[2]?.length ?? 0, second[2]?.length ?? 0);
    return order(scaled(first, digits), scaled(second, digits));
  }
  const numbers = [Number(one), Number(other)] as const;
  return numbers.some(Number.isNaN) ? order(one, other) : order(...numbers);
}

/** Without the infinities, which `numeric` has. */
const NUMBER = /^(-?\d+)(?:\.(\d+))?$/;

const scaled = ([, whole = "", fraction = ""]: RegExpExecArray, digits: number): bigint =>
  BigInt(whole + fraction.padEnd(digits, "0"));

const order = <T extends bigint | number | string>(one: T, other: T): number =>
  one < other ? -1 : Number(one > other);
