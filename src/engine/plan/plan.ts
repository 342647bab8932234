import {
  type Circumstances,
  type GuardResult,
  guardRemovals,
  type HeldRemoval,
  isAllowed,
  type RemovalSummary,
  type RemovalSummaryBuilder,
} from "../../core/deletion/removals.ts";
import type { RetryableFailure } from "../../core/failure/group-failures.ts";
import type { LedgerGroup } from "../../core/group/ledger-group.ts";
import type { Tenant } from "../../core/group/tenant.ts";
import { type Change, isRemoval, type Removal } from "../../core/plan/change.ts";
import type { LedgerUpdate } from "../../core/plan/ledger-update.ts";
import type { Missing, PlannedAction } from "../../core/plan/planned-action.ts";
import type { Reading } from "../../core/plan/read-history.ts";
import type { Warning } from "../../ports/observer.ts";
import type { Spool } from "../../ports/spool.ts";

/** What a plan has for one id: an action, or an update of the ledger alone. */
export type PlanEntry = PlannedAction | LedgerUpdate;

/** The differences between the source and the ledger, in the order of the ids. */
export interface Plan {
  readonly entries: Spool<PlanEntry>;
  readonly counts: Readonly<Record<PlanEntry["kind"], number>>;
  /** How many changes each phase has, including those that are held. */
  readonly phases: Readonly<Record<Phase, number>>;
  readonly unchanged: number;
  /** How many rows are not ready. A plan of all tenants has no entries for those of unchanged buckets. */
  readonly notReady: number;
  /** Groups with an update or a rotation under way that none of the changes settles. */
  readonly leftUnderWay: readonly LeftUnderWay[];
  /** How many groups have a token that, by the ledger, is not in every store. */
  readonly notEverywhere: number;
  /** Whether the read had a row that isn't rejected. */
  readonly conclusive: boolean;
  /** False if the operator has named the ids that the plan is about. */
  readonly isWhole: boolean;
  readonly reading: Reading;
  readonly removals: RemovalSummary;
  readonly guard: GuardResult;
  /** The table that was read, with its schema; null for a query. */
  readonly sourceTable: string | null;
  /** About the database role that read the source. */
  readonly warnings: readonly Warning[];
  /** The ids that were looked up, and that neither the source nor the ledger has. */
  readonly unknown: ReadonlySet<string>;
}

export interface LeftUnderWay {
  readonly user_group_id: string;
  /** Why the last GET for its token failed; null if none did. */
  readonly failure: RetryableFailure | null;
}

/** The changes of a plan are made in phases. Each change belongs to one phase. */
type Phase = "under way" | "create" | "failed before" | "update" | "replace" | "delete";

/**
 * Changes that an earlier run left under way come first, and removals come last. Changes that failed before come after the
 * creates, because they may fail for ever, and new tenants must not wait for them.
 */
const PHASES: readonly Phase[] = ["under way", "create", "failed before", "update", "replace", "delete"];

/** The changes to make, phase by phase, without those that are held. Reads the entries once for each phase that has any. */
export async function* changesOf(plan: Plan): AsyncGenerator<Change> {
  if (changeCount(plan) === 0) return;
  for (const phase of PHASES) {
    if (plan.phases[phase] === 0) continue;
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
export function changeCounts({ counts, removals, guard }: Plan): Record<Change["kind"], number> {
  const { create, update, replace } = counts;
  switch (guard.kind) {
    case "allowed":
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

function phaseOf({ kind, underWay, failedBefore }: Change): Phase {
  if (failedBefore) return "failed before";
  return underWay ? "under way" : kind;
}

const NO_ENTRIES: Plan["counts"] = {
  create: 0,
  update: 0,
  replace: 0,
  delete: 0,
  waiting: 0,
  missing: 0,
  gone: 0,
  outdated: 0,
  not_ready: 0,
  rejected: 0,
  left: 0,
  returned: 0,
  forgotten: 0,
  cleared: 0,
  settled: 0,
};

const NO_CHANGES: Plan["phases"] = {
  "under way": 0,
  create: 0,
  "failed before": 0,
  update: 0,
  replace: 0,
  delete: 0,
};

interface LedgerTotals {
  readonly owned: number;
  /** Groups whose removal an earlier run began. */
  readonly removalsUnderWay: number;
}

/** Builds a plan while the source and the ledger are read side by side. */
export class PlanBuilder {
  readonly #entries: Spool<PlanEntry>;
  readonly #removals: RemovalSummaryBuilder;
  readonly #counts = { ...NO_ENTRIES };
  readonly #phases = { ...NO_CHANGES };
  readonly #leftUnderWay: LeftUnderWay[] = [];
  #unchanged = 0;
  #notReady = 0;
  #notEverywhere = 0;
  #owned = 0;
  #conclusive = false;

  constructor(entries: Spool<PlanEntry>, removals: RemovalSummaryBuilder) {
    this.#entries = entries;
    this.#removals = removals;
  }

  /** Counts rows that need not be read: rows that equal what the ledger has recorded, and rows that are not ready. */
  addUnread({ unchanged, notReady }: Pick<Plan, "unchanged" | "notReady">): void {
    this.#unchanged += unchanged;
    this.#notReady += notReady;
    this.#owned += unchanged;
    this.#conclusive ||= unchanged + notReady > 0;
  }

  /** Counts a group of the ledger, even if the plan will have no entry for it. */
  see(group: LedgerGroup): void {
    this.#owned++;
    if (group.failures.storing !== null) this.#notEverywhere++;
    this.#removals.see(group);
  }

  /** Counts the groups of a ledger that isn't read to its end. */
  seeTotals({ owned, removalsUnderWay }: LedgerTotals): void {
    this.#owned += owned;
    this.#removals.seeUnderWay(removalsUnderWay);
  }

  /** How many removals were added. */
  get removals(): number {
    return this.#counts.replace + this.#counts.delete;
  }

  /** Adds the action and the ledger update for an id. */
  add(tenant: Tenant | undefined, action: PlannedAction | null, update: LedgerUpdate | null): void {
    if (tenant !== undefined && tenant.kind !== "rejected") this.#conclusive = true;
    if (action === null && tenant?.kind === "desired") this.#unchanged++;
    if (action !== null) {
      this.#append(action);
      this.#removals.add(action);
    }
    if (update !== null) this.#append(update);
  }

  /** Keeps a group in memory whose open intent no change of this plan settles. A run leaves few of them. */
  leaveUnderWay({ user_group_id, failures }: LedgerGroup): void {
    this.#leftUnderWay.push({ user_group_id, failure: failures.storing });
  }

  /** Returns the plan. Nothing can be added afterwards. */
  build(
    known: Pick<Plan, "reading" | "isWhole" | "sourceTable" | "warnings" | "unknown">,
    circumstances: Omit<Circumstances, "conclusive" | "owned">,
  ): Plan {
    const removals = this.#removals.summary();
    const conclusive = this.#conclusive;
    return {
      entries: this.#entries,
      counts: this.#counts,
      phases: this.#phases,
      unchanged: this.#unchanged,
      notReady: this.#notReady + this.#counts.not_ready,
      leftUnderWay: this.#leftUnderWay,
      notEverywhere: this.#notEverywhere,
      conclusive,
      ...known,
      removals,
      guard: guardRemovals(removals, {
        ...circumstances,
        // A plan for some ids takes no tenant for gone, and so needs no evidence.
        conclusive: conclusive || !known.isWhole,
        owned: this.#owned,
      }),
    };
  }

  #append(entry: PlanEntry): void {
    this.#counts[entry.kind]++;
    if (isChange(entry)) this.#phases[phaseOf(entry)]++;
    this.#entries.append(entry);
  }
}
