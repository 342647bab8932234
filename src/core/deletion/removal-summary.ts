import { intendsRemoval, type LedgerGroup } from "../group/ledger-group.ts";
import { isRemoval } from "../plan/change.ts";
import type { PlannedAction } from "../plan/planned-action.ts";
import { ApprovalCode, type ApprovalScope } from "./approval-code.ts";

/** The removals that a plan asks for. */
export interface RemovalSummary {
  /** Deletions that are due, and that no run has begun. */
  readonly deletions: number;
  /** Replacements that are due, and that no run has begun. */
  readonly replacements: number;
  /** Removals that an earlier run began, when they were allowed. */
  readonly underWay: number;
  /** Of the deletions: how many are of tenants that were never seen in the source that the config names now. */
  readonly estranged: number;
  /** Approves exactly the removals that are due. */
  readonly code: string;
  /** Groups whose tenants are gone. */
  readonly gone: number;
  /** Of these: groups that are never deleted, by `deletion.when`. */
  readonly kept: number;
}

/** Counts a plan's removals without keeping them. Planned actions have to come in the order of their ids. */
export class RemovalSummaryBuilder {
  readonly #code: ApprovalCode;
  readonly #counts = { deletions: 0, replacements: 0, underWay: 0, estranged: 0, gone: 0, kept: 0 };

  constructor(scope: ApprovalScope) {
    this.#code = new ApprovalCode(scope);
  }

  add(action: PlannedAction): void {
    const counts = this.#counts;
    if (action.kind === "delete" || action.kind === "missing") counts.gone++;
    if (action.kind === "missing" && action.dueInMs === null) counts.kept++;
    if (!isRemoval(action) || action.underWay) return;
    this.#code.add(action);
    if (action.kind === "replace") {
      counts.replacements++;
    } else {
      counts.deletions++;
      if (action.absence === "estranged") counts.estranged++;
    }
  }

  /** Counts a removal that an earlier run began: the service may have done it, whatever is planned for the group now. */
  see({ intent }: Pick<LedgerGroup, "intent">): void {
    if (intendsRemoval(intent)) this.#counts.underWay++;
  }

  /** As `see`, for this many groups. */
  seeUnderWay(count: number): void {
    this.#counts.underWay += count;
  }

  /** Nothing can be added afterwards. */
  summary(): RemovalSummary {
    return { ...this.#counts, code: this.#code.get() };
  }
}
