import { type GuardResult, type HeldRemoval, isAllowed } from "../../core/deletion/removals.ts";
import { type Change, isRemoval, type Removal } from "../../core/plan/change.ts";
import type { Reading } from "../../core/plan/read-history.ts";
import type { Missing, Note, PlannedAction } from "../../core/record/decide.ts";
import type { Warning } from "../../ports/observer.ts";
import type { Spool } from "../../ports/spool.ts";

/** What a plan has for one id: an action, or what the ledger alone records. */
export type PlanEntry = PlannedAction | Note;

/** The differences between the source and the ledger, in the order of the ids. */
export interface Plan {
  readonly entries: Spool<PlanEntry>;
  readonly counts: Readonly<Record<PlanEntry["kind"], number>>;
  /** The phases that have changes, including those that are held. */
  readonly phases: ReadonlySet<Phase>;
  readonly unchanged: number;
  /** How many rows are not ready. A plan of all tenants has no entries for those of unchanged buckets. */
  readonly notReady: number;
  /** Groups with an update or a rotation under way that none of the changes settles. */
  readonly leftUnderWay: readonly string[];
  /** How many groups owed something when the plan was made, see `owes`. */
  readonly owing: number;
  /** Whether the read had a row that isn't rejected. */
  readonly conclusive: boolean;
  /** False if the operator has named the ids that the plan is about. */
  readonly isWhole: boolean;
  /** The whole source was read, and the groups of the named tenants that are gone are deleted now. */
  readonly skipsGrace?: boolean;
  readonly reading: Reading;
  readonly guard: GuardResult;
  /** The table that was read, with its schema; null for a query. */
  readonly sourceTable: string | null;
  /** About the database role that read the source. */
  readonly warnings: readonly Warning[];
  /** The ids that were looked up, and that neither the source nor the ledger has. */
  readonly unknown: ReadonlySet<string>;
}

/** The changes of a plan are made in phases. Each change belongs to one phase. */
export type Phase = "under way" | "create" | "failed before" | "update" | "replace" | "delete";

/**
 * Changes that an earlier run left under way come first, and removals come last. Changes that failed before come after the
 * creates, because they may fail for ever, and new tenants must not wait for them.
 */
const PHASES: readonly Phase[] = ["under way", "create", "failed before", "update", "replace", "delete"];

/** The changes to make, phase by phase, without those that are held. Reads the entries once for each phase that has any. */
export async function* changesOf(plan: Plan): AsyncGenerator<Change> {
  if (changeCount(plan) === 0) return;
  for (const phase of PHASES) {
    if (!plan.phases.has(phase)) continue;
    for await (const batch of plan.entries.read()) {
      for (const entry of batch) {
        if (isChange(entry) && phaseOf(entry) === phase && !isHeld(entry, plan)) yield entry;
      }
    }
  }
}

/** Whether the read proves that tenants are gone. */
export const isEvidence = ({ conclusive, reading }: Plan): boolean =>
  conclusive && reading.hostLeadMs === null;

/** How many changes of each kind will be made. */
export function changeCounts({ counts, guard }: Plan): Record<Change["kind"], number> {
  const { create, update, replace } = counts;
  switch (guard.kind) {
    case "allowed":
      return { create, update, replace, delete: counts.delete };
    case "held":
      return {
        create,
        update,
        replace: replace - guard.removals.replacements,
        delete: counts.delete - guard.removals.deletions,
      };
    case "inconclusive":
      return { create, update, replace: 0, delete: 0 };
  }
}

export const changeCount = (plan: Plan): number =>
  Object.values(changeCounts(plan)).reduce((sum, count) => sum + count, 0);

/** How many groups are missing and not held. After an inconclusive read, only groups that are kept for good are not held. */
export const missingCount = ({ counts, guard }: Plan): number =>
  guard.kind === "inconclusive" ? guard.kept : counts.missing;

/** The removals that wait for approval or for a conclusive read, in the order of the ids. */
export async function* heldOf(plan: Plan): AsyncGenerator<readonly HeldRemoval[]> {
  const { missing, replace, delete: deletions } = plan.counts;
  if (plan.guard.kind === "allowed" || missing + replace + deletions === 0) return;
  for await (const batch of plan.entries.read()) {
    yield batch.flatMap((entry) => (isHeld(entry, plan) ? [heldFrom(entry)] : []));
  }
}

/** After an inconclusive read every missing group is held, even before its grace period is over. */
export function isHeld(entry: PlanEntry, { guard }: Plan): entry is Removal | Missing {
  if (entry.kind === "missing") return guard.kind === "inconclusive" && entry.dueInMs !== null;
  return isRemoval(entry) && !isAllowed(entry, guard);
}

/** The removal that is held, for an entry that `isHeld` accepts. A missing group counts as a deletion. */
export const heldFrom = ({ kind, user_group_id }: Removal | Missing): HeldRemoval => ({
  kind: kind === "replace" ? kind : "delete",
  user_group_id,
});

export const isChange = (entry: PlanEntry): entry is Change =>
  entry.kind === "create" || entry.kind === "update" || isRemoval(entry);

export function phaseOf({ kind, underWay, failedBefore }: Change): Phase {
  if (failedBefore) return "failed before";
  return underWay ? "under way" : kind;
}
