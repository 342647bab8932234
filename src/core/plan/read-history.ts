import type { GraceClock } from "../group/ledger-group.ts";

/** What the ledger keeps of earlier reads of the source. */
export interface ReadHistory {
  /** The source of the last conclusive read, described in words; null before the first one. */
  readonly source: string | null;
  /** The table, with its schema, that the source led to; null for a query. */
  readonly table: string | null;
  readonly clock: GraceClock;
  /** The time of the last read, if that read was good. Null after any other read: then the time since then doesn't count. */
  readonly healthyAt: Date | null;
  /** The approval code of the held removals, or `STALE_CODE`; null if none are held. */
  readonly heldCode: string | null;
  /** How many times an operator has approved held removals: each approval makes all earlier codes invalid. */
  readonly approvals: number;
}

/** Stands for an approval code that was used, until a full sync has computed a new code. */
export const STALE_CODE = "";

export const NO_READ_HISTORY: ReadHistory = {
  source: null,
  table: null,
  clock: { ms: 0, reads: 0 },
  healthyAt: null,
  heldCode: null,
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

/** After a good read: it was complete and conclusive, and nothing is held. */
export const afterHealthyRead = (
  history: ReadHistory,
  { source, table, at, clock }: Reading,
): ReadHistory => ({
  ...history,
  source,
  table,
  clock,
  healthyAt: at,
  heldCode: null,
});

/** After a read that leads to held removals: the grace clock stands still until an operator approves them. */
export const afterHeldRead = (
  history: ReadHistory,
  { source, table }: Reading,
  heldCode: string,
): ReadHistory => ({
  ...whileReading(history),
  source,
  table,
  heldCode,
});

/**
 * After a read of single tenants only, which doesn't advance the grace clock. If it is the first read, record its source:
 * otherwise a later change of the source would go unnoticed.
 */
export const afterPartialRead = (history: ReadHistory, { source, table }: Reading): ReadHistory =>
  history.source === null ? { ...history, source, table } : history;

/** After an approval: its code can't be used again. */
export const afterApproval = (history: ReadHistory): ReadHistory => ({
  ...history,
  approvals: history.approvals + 1,
  heldCode: history.heldCode === null ? null : STALE_CODE,
});
