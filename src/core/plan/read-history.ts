import { clockDiffers } from "../failure/sync-error.ts";
import type { GraceClock } from "../group/ledger-group.ts";
import { durationText } from "../text/quantity.ts";

/** What the ledger keeps of earlier reads of the source. */
export interface ReadHistory {
  /** The source of the last conclusive read, described in words; null before the first one. */
  readonly source: string | null;
  /** The table, with its schema, that the source led to; null for a query. */
  readonly table: string | null;
  readonly clock: GraceClock;
  /** The time of the last read, if that read was good. Null after any other read: then the time since then doesn't count. */
  readonly healthyAt: Date | null;
  /** What the last full read held; null if nothing. */
  readonly held: HeldByRead | null;
  /** How many times an operator has approved held removals: each approval makes all earlier codes invalid. */
  readonly approvals: number;
}

interface HeldByRead {
  /** Approves the removals that this read held. Null once some of them may be done: only the next full sync has a new code. */
  readonly code: string | null;
  /** How many removals the code approves. If fewer are held by now, the code is refused. */
  readonly count: number;
}

export const NO_READ_HISTORY: ReadHistory = {
  source: null,
  table: null,
  clock: { ms: 0, reads: 0 },
  healthyAt: null,
  held: null,
  approvals: 0,
};

/** What is known about the present read of the source before its rows are read. */
export interface Reading {
  /** The source, described in words. */
  readonly source: string;
  /** The table that the source leads to. Until that is looked up: the table of the last read. Null if neither is known. */
  readonly table: string | null;
  readonly at: Date;
  /** The grace clock if this read turns out to be good. It stands still while the host's clock can't be trusted. */
  readonly clock: GraceClock;
  /**
   * The config names another source than that of the last conclusive read. Also true before the first one: groups that were
   * made until then may come from any source.
   */
  readonly sourceChanged: boolean;
  /** Tenants that were missing may have been back since the last read: see `longPause`. */
  readonly afterLongPause: boolean;
  /** See `clockLead`. If it isn't null, the read's time can't be trusted: the read proves no absence, and removes nothing. */
  readonly hostLeadMs: number | null;
}

/** The table of the last read, if that was a read of this source. */
export const lastTable = (history: ReadHistory, source: string): string | null =>
  history.source === source ? history.table : null;

/** The grace clock advances by the time from one good read to the next one of the same source. */
export function nextReading(
  history: ReadHistory,
  source: string,
  now: Date,
  { afterLongPause = false, hostLeadMs = null }: Partial<Pick<Reading, "afterLongPause" | "hostLeadMs">> = {},
): Reading {
  const sourceChanged = history.source !== source;
  const { clock, healthyAt } = history;
  const stands = healthyAt === null || sourceChanged || hostLeadMs !== null;
  const elapsed = stands ? 0 : now.getTime() - healthyAt.getTime();
  const graceClock = { ms: clock.ms + Math.max(0, elapsed), reads: clock.reads + 1 };
  const table = lastTable(history, source);
  return { source, table, at: now, clock: graceClock, sourceChanged, afterLongPause, hostLeadMs };
}

/** Pauses the grace clock: if the read that begins now fails, the time since the last good read must not count. */
export const whileReading = (history: ReadHistory): ReadHistory => ({ ...history, healthyAt: null });

/**
 * After a read that was complete and conclusive. `held` is null if it was good: nothing is held. If it leads to held
 * removals, the grace clock stands still until an operator approves them.
 */
export function afterFullRead(
  history: ReadHistory,
  { source, table, at, clock }: Reading,
  held: HeldByRead | null,
): ReadHistory {
  const after = { ...history, source, table, held };
  return held === null ? { ...after, clock, healthyAt: at } : whileReading(after);
}

/**
 * After a read of single tenants only, which doesn't advance the grace clock. If it is the first read, record its source:
 * otherwise a later change of the source would go unnoticed.
 */
export const afterPartialRead = (history: ReadHistory, { source, table }: Reading): ReadHistory =>
  history.source === null ? { ...history, source, table } : history;

/** After an approval: its code can't be used again. */
export const afterApproval = (history: ReadHistory): ReadHistory => ({
  ...withStaleCode(history),
  approvals: history.approvals + 1,
});

/** If some of the removals that are held may be done now: the code no longer stands for those that are held then. */
export const withStaleCode = (history: ReadHistory): ReadHistory =>
  history.held === null ? history : { ...history, held: { ...history.held, code: null } };

/** When a sync of all tenants ran that reached its end. */
export interface GoodSync {
  readonly startedAt: Date;
  readonly finishedAt: Date;
}

/** A shorter pause is never a long one. */
export const SHORTEST_LONG_PAUSE_MS = 3_600_000;

/** With fewer syncs than this, nobody knows how long a pause between two of them usually is. */
const FEWEST_SYNCS = 10;

/**
 * How long ago the last good sync was, in milliseconds, if that is more than twice as long as any earlier pause; otherwise
 * null. Either groupsync did not run, or this ledger comes from a backup. Tenants that are missing may have been back in
 * the meantime, and the ledger would not know. `earlier`: the good syncs before `now`, newest first.
 */
export function longPause(now: Date, earlier: readonly GoodSync[]): number | null {
  if (earlier.length < FEWEST_SYNCS) return null;
  const starts = [now, ...earlier.map(({ startedAt }) => startedAt)];
  const [pause = 0, ...usual] = earlier.map(
    ({ finishedAt }, index) => (starts[index] ?? now).getTime() - finishedAt.getTime(),
  );
  return pause >= SHORTEST_LONG_PAUSE_MS && pause > 2 * Math.max(...usual) ? pause : null;
}

/** The database's time, and when this host asked for it. */
interface AskedTime {
  /** The host's clock, right before it asked. */
  readonly asked: Date;
  /** How long the answer took, by a clock that nobody sets. In milliseconds. */
  readonly tookMs: number;
  /** The database's clock, at some moment until the answer came. */
  readonly answer: Date;
}

/** Clocks that differ by no more than this agree, in milliseconds. */
const TOLERANCE_MS = 5 * 60_000;

/** How far the host's clock is ahead of the database's, in milliseconds: less than 0 if it is behind. Null if they agree. */
export function clockLead({ asked, tookMs, answer }: AskedTime): number | null {
  const mostAhead = asked.getTime() + tookMs - answer.getTime();
  const leastAhead = asked.getTime() - answer.getTime();
  if (leastAhead > TOLERANCE_MS) return leastAhead;
  return mostAhead < -TOLERANCE_MS ? mostAhead : null;
}

/** Grace periods and the limit go by the host's clock, and nobody knows which of the two clocks is right. */
export const clockDifference = (leadMs: number) => ({
  ...clockDiffers(
    `the clock of this host is ${durationText(Math.abs(leadMs))} ${leadMs > 0 ? "ahead of" : "behind"} the clock of the ledger's database: until they agree, no group is deleted or replaced, whatever was approved`,
  ),
  hint: "set the clock that is wrong, best by NTP: once they are less than five minutes apart, deletions go on, and no grace period has counted the time in between",
});
