import { type Change, isRemoval, type Removal } from "../core/change.ts";
import { type Clearance, type Held, isCleared, type RemovalSummary } from "../core/clearance.ts";
import type { Decision, Missing } from "../core/decide.ts";
import type { Reading } from "../core/evidence.ts";
import type { GroupFailure } from "../core/ledger-group.ts";
import type { Note } from "../core/note.ts";
import type { Warning } from "../ports/observer.ts";
import type { Spool } from "../ports/spool.ts";

/** What is to be done about one id, or to be noted of it. */
export type PlanEntry = Decision | Note;

/** The differences between the source and the ledger, in the order of the ids. */
export interface Plan {
  readonly entries: Spool<PlanEntry>;
  readonly counts: Readonly<Record<PlanEntry["kind"], number>>;
  readonly unchanged: number;
  /** Groups of which an update or a rotation is under way that none of the changes settles. */
  readonly leftUnderWay: readonly LeftUnderWay[];
  /** Whether the read can show that a tenant is gone: it had at least one valid row. */
  readonly conclusive: boolean;
  /** It is about all ids, and not only about those that the operator has named. */
  readonly isWhole: boolean;
  readonly reading: Reading;
  readonly removals: RemovalSummary;
  readonly clearance: Clearance;
  /** That was read, with its schema; null for a query. */
  readonly sourceTable: string | null;
  /** Of the role that has read the source. */
  readonly warnings: readonly Warning[];
}

export interface LeftUnderWay {
  readonly user_group_id: string;
  /** Of the last try. */
  readonly failure: GroupFailure | null;
}

/** A change of a plan is taken in one of these turns. */
type Turn = "under way" | "create" | "failed before" | "update" | "replace" | "delete";

/**
 * First what an earlier run left under way, and last what takes groups away. What has failed before may fail for ever, so
 * new tenants don't wait for it.
 */
const TURNS: readonly Turn[] = ["under way", "create", "failed before", "update", "replace", "delete"];

/** What is to be done, turn by turn. */
export async function* changesOf(plan: Plan): AsyncGenerator<Change> {
  if (changeCount(plan) === 0) return;
  for (const turn of TURNS) {
    for await (const batch of plan.entries.read()) {
      for (const entry of batch) {
        if (isChange(entry) && turnOf(entry) === turn && !isHeld(entry, plan)) yield entry;
      }
    }
  }
}

/** How many changes of each kind these are. */
export function changeCounts({ counts, removals, clearance }: Plan): Record<Change["kind"], number> {
  const { create, update, replace } = counts;
  switch (clearance.kind) {
    case "cleared":
      return { create, update, replace, delete: counts.delete };
    case "held":
      return {
        create,
        update,
        replace: replace - removals.replacements,
        delete: counts.delete - removals.deletions,
      };
    case "inconclusive":
      return { create, update, replace: 0, delete: 0 };
  }
}

/** How many changes will be made, of all kinds. */
export const changeCount = (plan: Plan): number =>
  Object.values(changeCounts(plan)).reduce((sum, count) => sum + count, 0);

/** How many groups are missing and not held: of an inconclusive read, only those that are kept for good. */
export const missingCount = ({ counts, clearance }: Plan): number =>
  clearance.kind === "inconclusive" ? clearance.kept : counts.missing;

/** What is not done, and waits for approval or for better evidence, in the order of the ids. */
export async function* heldOf(plan: Plan): AsyncGenerator<readonly Held[]> {
  if (plan.clearance.kind === "cleared") return;
  for await (const batch of plan.entries.read()) {
    yield batch.flatMap((entry) => (isHeld(entry, plan) ? [heldFrom(entry)] : []));
  }
}

/** Of an inconclusive read, whoever is gone is held, whether or not it would be time. */
export function isHeld(entry: PlanEntry, { clearance }: Plan): entry is Removal | Missing {
  if (entry.kind === "missing") return clearance.kind === "inconclusive" && entry.dueInMs !== null;
  return isRemoval(entry) && !isCleared(entry, clearance);
}

/** What is held of an entry that `isHeld`: its deletion, where it is not a replacement. */
export const heldFrom = ({ kind, user_group_id }: Removal | Missing): Held => ({
  kind: kind === "replace" ? kind : "delete",
  user_group_id,
});

const isChange = (entry: PlanEntry): entry is Change =>
  entry.kind === "create" || entry.kind === "update" || isRemoval(entry);

function turnOf({ kind, underWay, failedBefore }: Change): Turn {
  if (failedBefore) return "failed before";
  return underWay ? "under way" : kind;
}
