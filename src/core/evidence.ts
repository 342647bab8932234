import type { HealthyTime } from "./ledger-group.ts";

/** What earlier reads of the source are worth, as the ledger keeps it. */
export interface Evidence {
  /** Where the ids came from in the last conclusive read; null before the first. */
  readonly source: string | null;
  /** The table that it led to, with its schema; null for a query. */
  readonly table: string | null;
  readonly clock: HealthyTime;
  /** When the last read was, if it was a healthy one: only then does the time since count. */
  readonly healthyAt: Date | null;
  /** The code of the groups that are marked as held, or `STALE_CODE`; null if there are none. */
  readonly heldCode: string | null;
  /** How often an operator has approved what was held: each approval makes all earlier codes worthless. */
  readonly approvals: number;
}

/** In place of a code that approves nothing any more, until a whole sync has made another one. */
export const STALE_CODE = "";

export const NO_EVIDENCE: Evidence = {
  source: null,
  table: null,
  clock: { ms: 0, reads: 0 },
  healthyAt: null,
  heldCode: null,
  approvals: 0,
};

/** The present read, as far as it can be judged before it is made. */
export interface Reading {
  /** Where its ids come from. */
  readonly source: string;
  /** The table that it leads to; before it is looked up, the one that it led to so far. Null where there is none. */
  readonly table: string | null;
  readonly at: Date;
  /** What the healthy clock says if this read turns out healthy. */
  readonly clock: HealthyTime;
  /** The config names another source than the one that the groups came from. */
  readonly sourceChanged: boolean;
}

/** Time counts from one healthy read to the next one of the same source. */
export function nextReading(evidence: Evidence, source: string, now: Date): Reading {
  const sourceChanged = evidence.source !== null && evidence.source !== source;
  const { clock, healthyAt } = evidence;
  const elapsed = healthyAt === null || sourceChanged ? 0 : now.getTime() - healthyAt.getTime();
  const healthyTime = { ms: clock.ms + Math.max(0, elapsed), reads: clock.reads + 1 };
  const table = sourceChanged ? null : evidence.table;
  return { source, table, at: now, clock: healthyTime, sourceChanged };
}

/** While a read goes on, and for good where it fails, the time since the last healthy one is not counted. */
export const whileReading = (evidence: Evidence): Evidence => ({ ...evidence, healthyAt: null });

/** After a read that was complete, conclusive and not held: nothing speaks against what it shows. */
export const afterHealthyRead = (evidence: Evidence, { source, table, at, clock }: Reading): Evidence => ({
  ...evidence,
  source,
  table,
  clock,
  healthyAt: at,
  heldCode: null,
});

/** Somebody has to look first, and approves what is held by its code: nobody's grace period runs on meanwhile. */
export const afterHeldRead = (
  evidence: Evidence,
  { source, table }: Reading,
  heldCode: string,
): Evidence => ({
  ...whileReading(evidence),
  source,
  table,
  heldCode,
});

/** Nobody has aged by it; but where the first groups came from has to be known when the config names another source. */
export const afterPartialRead = (evidence: Evidence, { source, table }: Reading): Evidence =>
  evidence.source === null ? { ...evidence, source, table } : evidence;

/** The operator's word is good once. */
export const afterApproval = (evidence: Evidence): Evidence => ({
  ...evidence,
  approvals: evidence.approvals + 1,
  heldCode: evidence.heldCode === null ? null : STALE_CODE,
});
