import {
  type Circumstances,
  guardRemovals,
  type RemovalSummaryBuilder,
} from "../../core/deletion/removals.ts";
import { isCanary, type LedgerGroup } from "../../core/group/ledger-group.ts";
import type { Tenant } from "../../core/group/tenant.ts";
import type { Decision } from "../../core/record/decide.ts";
import type { Spool } from "../../ports/spool.ts";
import { isChange, type Phase, type Plan, type PlanEntry, phaseOf } from "./plan.ts";

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
  settled: 0,
  change_dropped: 0,
  returned: 0,
  left: 0,
  forgotten: 0,
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
  readonly #phases = new Set<Phase>();
  readonly #leftUnderWay: string[] = [];
  #unchanged = 0;
  #notReady = 0;
  #owing = 0;
  #owned = 0;
  #conclusive = false;

  constructor(entries: Spool<PlanEntry>, removals: RemovalSummaryBuilder) {
    this.#entries = entries;
    this.#removals = removals;
  }

  /** Counts rows that need not be read: rows that equal what the ledger has recorded, and rows that are not ready. */
  addUnread({ unchanged, notReady, owing }: Pick<Plan, "unchanged" | "notReady" | "owing">): void {
    this.#unchanged += unchanged;
    this.#notReady += notReady;
    this.#owing += owing;
    this.#owned += unchanged;
    this.#conclusive ||= unchanged + notReady > 0;
  }

  /** Counts a tenant's group of the ledger, even if the plan will have no entry for it. */
  see(group: LedgerGroup): void {
    if (isCanary(group)) return;
    this.#owned++;
    this.#removals.see(group);
  }

  /** Counts the groups of a ledger that isn't read to its end. */
  seeTotals({ owned, removalsUnderWay }: LedgerTotals): void {
    this.#owned += owned;
    this.#removals.seeUnderWay(removalsUnderWay);
  }

  get removals(): number {
    return this.#counts.replace + this.#counts.delete;
  }

  /** Whether the read is conclusive depends on each row, even if the plan isn't about its tenant. */
  seeRow(tenant: Tenant | undefined): void {
    if (tenant !== undefined && tenant.kind !== "rejected") this.#conclusive = true;
  }

  add(tenant: Tenant | undefined, { action, note, settles }: Decision): void {
    this.seeRow(tenant);
    if (action === null && tenant?.kind === "desired") this.#unchanged++;
    if (action !== null) {
      this.#append(action);
      this.#removals.add(action);
    }
    if (note !== null) this.#append(note);
    // In memory, because a run leaves few of them.
    if (settles && action?.user_group_id) this.#leftUnderWay.push(action.user_group_id);
  }

  /** Returns the plan. Nothing can be added afterwards. */
  build(
    known: Pick<Plan, "reading" | "isWhole" | "skipsGrace" | "sourceTable" | "warnings" | "unknown">,
    circumstances: Omit<Circumstances, "conclusive" | "owned">,
  ): Plan {
    const conclusive = this.#conclusive;
    return {
      entries: this.#entries,
      counts: this.#counts,
      phases: this.#phases,
      unchanged: this.#unchanged,
      notReady: this.#notReady + this.#counts.not_ready,
      leftUnderWay: this.#leftUnderWay,
      owing: this.#owing,
      conclusive,
      ...known,
      guard: guardRemovals(this.#removals.summary(), {
        ...circumstances,
        // A plan from lookups of some ids takes no tenant for gone, and so needs no evidence.
        conclusive: conclusive || !(known.isWhole || known.skipsGrace),
        owned: this.#owned,
      }),
    };
  }

  #append(entry: PlanEntry): void {
    this.#counts[entry.kind]++;
    if (isChange(entry)) this.#phases.add(phaseOf(entry));
    this.#entries.append(entry);
  }
}
