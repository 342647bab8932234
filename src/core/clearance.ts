import type { Removal } from "./change.ts";
import { type DeletionLimit, removalsAllowed } from "./deletion.ts";

/** A deletion or replacement that waits for approval. */
export interface Held {
  readonly kind: Removal["kind"];
  readonly user_group_id: string;
}

/** The removals that a plan asks for. */
export interface RemovalSummary {
  /** Deletions that are due, and have not been begun. */
  readonly deletions: number;
  /** Replacements, likewise. */
  readonly replacements: number;
  /** Begun by an earlier run, which had clearance. */
  readonly underWay: number;
  /** Of the deletions: groups whose tenants were never seen in the present source. */
  readonly estranged: number;
  /** Of all that is due. */
  readonly code: string;
  /** Groups whose tenants are gone. */
  readonly gone: number;
  /** Of these: groups that `deletion.when` keeps for good. */
  readonly kept: number;
}

export interface Circumstances {
  /** The read had at least one row that shows that it was worth something. */
  readonly conclusive: boolean;
  /** Groups in the ledger. */
  readonly owned: number;
  /** Removals in the last 24 hours. */
  readonly recent: number;
  readonly limit: DeletionLimit;
  /** The code that the operator gave. */
  readonly approval?: string | undefined;
}

/** What may be done of a plan's removals: all, or nothing but what is under way, or nothing. */
export type Clearance = Cleared | HeldBack | Inconclusive;

export interface Cleared {
  readonly kind: "cleared";
  /** It took the operator's word. */
  readonly approved: boolean;
}

export interface HeldBack {
  readonly kind: "held";
  readonly removals: RemovalSummary;
  readonly circumstances: Circumstances;
}

export interface Inconclusive {
  readonly kind: "inconclusive";
  /** As in `RemovalSummary`. */
  readonly gone: number;
  readonly kept: number;
}

/**
 * Judges all removals of a plan together: whoever loses a table loses many tenants at once.
 *
 * | read         | due                                     | clearance       |
 * |--------------|-----------------------------------------|-----------------|
 * | inconclusive | any, and somebody is gone               | inconclusive    |
 * | conclusive   | none                                    | cleared         |
 * | conclusive   | approved by the code of just this set   | cleared         |
 * | conclusive   | some estranged                          | held            |
 * | conclusive   | more than the limit, with what was done | held            |
 * |              | in 24 hours and what is under way       |                 |
 * | conclusive   | else                                    | cleared         |
 */
export function clearanceOf(removals: RemovalSummary, circumstances: Circumstances): Clearance {
  const { conclusive, owned, recent, limit, approval } = circumstances;
  const { gone, kept } = removals;
  // Whatever `deletion.when` says: a source that has lost all its rows is no source in sync.
  if (!conclusive && gone > 0) return { kind: "inconclusive", gone, kept };
  const due = dueIn(removals);
  if (due === 0) return { kind: "cleared", approved: false };
  const exceeds = due + removals.underWay + recent > removalsAllowed(limit, owned);
  if (!exceeds && removals.estranged === 0) return { kind: "cleared", approved: false };
  if (approval === removals.code) return { kind: "cleared", approved: true };
  return { kind: "held", removals, circumstances };
}

/** What needs clearance: all but what is under way. */
export const dueIn = ({ deletions, replacements }: RemovalSummary): number => deletions + replacements;

/** Whether this removal is done now. What was begun with clearance is finished, but never on bad evidence. */
export function isCleared({ underWay }: Pick<Removal, "underWay">, { kind }: Clearance): boolean {
  switch (kind) {
    case "cleared":
      return true;
    case "held":
      return underWay;
    case "inconclusive":
      return false;
  }
}
