import type { Drift } from "../drift/drift.ts";

export type DriftCounts = Record<Drift, number>;

/** The numbers of a run, as `sync --json` prints them. */
export interface Counts {
  created: number;
  adopted: number;
  updated: number;
  replaced: number;
  /** Created, adopted and updated groups for which no answer has shown that the service took mapping and properties. */
  unverified: number;
  unchanged: number;
  /** Changed groups that `service.update: never` left alone. */
  outdated: number;
  /** Groups whose tenants are gone, and that are kept: until the grace period is over, or for good. */
  missing: number;
  /** Rows of which `source.ready_when` isn't true. */
  not_ready: number;
  deleted: number;
  rotated: number;
  /** Groups that were asked for again only to see whether the service still has them as the ledger knows them. */
  refreshed: number;
  /** What GETs found at the service that somebody else had changed there. */
  drift: DriftCounts;
  /** Stale or missing copies of tokens that were replaced, from another store or from the service. */
  restored: number;
  /** Deletions and replacements that were not done: they need an approval, or a read with at least one valid row. */
  held: number;
  rejected: number;
  /** Groups that failed in this run, and groups that failed earlier and whose next try is not due. */
  failed: number;
}

export const noCounts = (): Counts => ({
  created: 0,
  adopted: 0,
  updated: 0,
  replaced: 0,
  unverified: 0,
  unchanged: 0,
  outdated: 0,
  missing: 0,
  not_ready: 0,
  deleted: 0,
  rotated: 0,
  refreshed: 0,
  drift: { token: 0, gone: 0, name: 0 },
  restored: 0,
  held: 0,
  rejected: 0,
  failed: 0,
});

export type RunOutcome = "ok" | "partial" | "held" | "failed";

/** The outcome of a run that reached its end. Held outranks partial. */
export function runOutcome(counts: Counts): RunOutcome {
  if (counts.held > 0) return "held";
  return counts.failed + counts.rejected > 0 ? "partial" : "ok";
}
