import type { Drift } from "../drift/drift.ts";
import type { Failure } from "../failure/sync-error.ts";
import { durationText, quantities, quantity } from "../text/quantity.ts";

type DriftCounts = Record<Drift, number>;

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
  /** New tokens that an operator wants and that groups don't have yet. */
  wanted: number;
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
  wanted: 0,
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
  return counts.failed + counts.rejected + counts.wanted > 0 ? "partial" : "ok";
}

export interface Summary {
  readonly command: string;
  readonly outcome: RunOutcome;
  readonly counts: Readonly<Counts>;
  readonly requests: number;
  readonly durationMs: number;
  readonly error: Failure | null;
}

/** A run in one line: `sync ok: 2 created, 390 unchanged; 2 requests in 405 ms`. */
export function summaryText({ command, outcome, counts, requests, durationMs, error }: Summary): string {
  const numbers = countsText(counts);
  const work = `${numbers === "" ? "" : `${numbers}; `}${quantity(requests, "request")} in ${durationText(durationMs)}`;
  return error ? `${command} ${outcome}: ${error.message} (${work})` : `${command} ${outcome}: ${work}`;
}

/** `2 created, 390 unchanged, 1 token drift`: the counts that are not zero. */
export const countsText = ({ drift, ...counts }: Readonly<Counts>): string =>
  [
    ...Object.entries(counts),
    ...Object.entries(drift).map(([kind, count]) => [`${kind} drift`, count] as const),
  ]
    .flatMap(([name, count]) => (count > 0 ? [`${count} ${name.replace("_", " ")}`] : []))
    .join(", ");

/** What is not in sync: `2 rejected rows and 1 failing group`; empty if everything is. */
export const outOfSyncText = ({
  rejected,
  failed,
  outdated,
  wanted,
}: Pick<Counts, "rejected" | "failed" | "outdated" | "wanted">): string =>
  quantities([
    [rejected, "rejected row"],
    [failed, "failing group"],
    [outdated, "outdated group"],
    [wanted, "wanted token"],
  ]);
