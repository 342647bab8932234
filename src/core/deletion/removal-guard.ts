import type { Removal } from "../plan/change.ts";
import { type DeletionLimit, removalsAllowed } from "../plan/deletion-policy.ts";
import type { RemovalSummary } from "./removal-summary.ts";

/** A deletion or a replacement that waits for approval. */
export interface HeldRemoval {
  readonly kind: Removal["kind"];
  readonly user_group_id: string;
}

export interface Circumstances {
  /** The read of the source had at least one valid row. Without a valid row, the source itself may be wrong. */
  readonly conclusive: boolean;
  /** Groups in the ledger. */
  readonly owned: number;
  /** Removals done in the last 24 hours. */
  readonly recent: number;
  readonly limit: DeletionLimit;
  /** The code that the operator gave. */
  readonly approval?: string | undefined;
}

/** Which of a plan's removals may be done: all, only those under way, or none. */
export type GuardResult = Allowed | HeldBack | Inconclusive;

interface Allowed {
  readonly kind: "allowed";
  /** They are allowed only because the operator gave their code. */
  readonly approved: boolean;
}

export interface HeldBack {
  readonly kind: "held";
  readonly removals: RemovalSummary;
  readonly circumstances: Circumstances;
}

export interface Inconclusive {
  readonly kind: "inconclusive";
  /** `gone` and `kept` as in `RemovalSummary`. */
  readonly gone: number;
  readonly kept: number;
}

/**
 * Decides on all removals of a plan together, because a mistake in the source makes many tenants disappear at once. The
 * first row that fits counts.
 *
 * | read         | removals that are due                        | result       |
 * |--------------|----------------------------------------------|--------------|
 * | inconclusive | any number, even 0, if a tenant is gone      | inconclusive |
 * | any          | none                                         | allowed      |
 * | any          | approved by the code of exactly this set     | allowed      |
 * | any          | of tenants unseen in the new source          | held         |
 * | any          | more than the limit, together with removals  | held         |
 * |              | of the last 24 hours and removals under way  |              |
 * | any          | within the limit                             | allowed      |
 */
export function guardRemovals(removals: RemovalSummary, circumstances: Circumstances): GuardResult {
  const { conclusive, owned, recent, limit, approval } = circumstances;
  const { gone, kept } = removals;
  // Whatever `deletion.when` says: a run must not report success if the source has lost all its rows.
  if (!conclusive && gone > 0) return { kind: "inconclusive", gone, kept };
  const due = removalsDue(removals);
  if (due === 0) return { kind: "allowed", approved: false };
  const exceeds = due + removals.underWay + recent > removalsAllowed(limit, owned);
  if (!exceeds && removals.estranged === 0) return { kind: "allowed", approved: false };
  if (approval === removals.code) return { kind: "allowed", approved: true };
  return { kind: "held", removals, circumstances };
}

/** The removals that the guard decides on: all that are not under way yet. */
export const removalsDue = ({ deletions, replacements }: RemovalSummary): number => deletions + replacements;

/** Whether this removal is done now. A removal that an earlier run began is finished, unless the read is inconclusive. */
export function isAllowed({ underWay }: Pick<Removal, "underWay">, { kind }: GuardResult): boolean {
  switch (kind) {
    case "allowed":
      return true;
    case "held":
      return underWay;
    case "inconclusive":
      return false;
  }
}
