import type { HealthyTime } from "./ledger-group.ts";

/** What earlier reads of the source are worth, as the ledger keeps it. */
export interface Evidence {
  /** Where the ids came from in the last conclusive read; null before the first. */
  readonly source: string | null;
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
  clock: { ms: 0, reads: 0 },
  healthyAt: null,
  heldCode: null,
  approvals: 0,
};

/** The present read, as far as it can be judged before it is made. */
export interface Reading {
  /** Where its ids come from. */
  readonly source: string;
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
  return { source, at: now, clock: healthyTime, sourceChanged };
}

/** While a read goes on, and for good where it fails, the time since the last healthy one is not counted. */
export const whileReading = (evidence: Evidence): Evidence => ({ ...evidence, healthyAt: null });

/** After a read that was complete, conclusive and not held: nothing speaks against what it shows. */
export const afterHealthyRead = (evidence: Evidence, { source, at, clock }: Reading): Evidence => ({
  ...evidence,
  source,
  clock,
  healthyAt: at,
  heldCode: null,
});

/** Somebody has to look first, and approves what is held by its code: nobody's grace period runs on meanwhile. */
export const afterHeldRead = (evidence: Evidence, { source }: Reading, heldCode: string): Evidence => ({
  ...whileReading(evidence),
  source,
  heldCode,
});

/** Nobody has aged by it; but where the first groups came from has to be known when the config names another source. */
export const afterPartialRead = (evidence: Evidence, { source }: Reading): Evidence =>
  evidence.source === null ? { ...evidence, source } : evidence;

/** The operator's word is good once. */
export const afterApproval = (evidence: Evidence): Evidence => ({
  ...evidence,
  approvals: evidence.approvals + 1,
  heldCode: evidence.heldCode === null ? null : STALE_CODE,
});
