import { ApprovalCode, type ApprovalScope } from "./approval-code.ts";
import { isRemoval } from "./change.ts";
import type { RemovalSummary } from "./clearance.ts";
import type { Decision } from "./decide.ts";
import { intendsRemoval, type LedgerGroup } from "./ledger-group.ts";

/** Sums up what a plan wants removed, without keeping it. Decisions come in the order of their ids. */
export class RemovalTally {
  readonly #code: ApprovalCode;
  readonly #counts = { deletions: 0, replacements: 0, underWay: 0, estranged: 0, gone: 0, kept: 0 };

  constructor(scope: ApprovalScope) {
    this.#code = new ApprovalCode(scope);
  }

  add(decision: Decision): void {
    const counts = this.#counts;
    if (decision.kind === "delete" || decision.kind === "missing") counts.gone++;
    if (decision.kind === "missing" && decision.dueInMs === null) counts.kept++;
    if (!isRemoval(decision) || decision.underWay) return;
    this.#code.add(decision);
    if (decision.kind === "replace") {
      counts.replacements++;
    } else {
      counts.deletions++;
      if (decision.absence === "estranged") counts.estranged++;
    }
  }

  /** A removal that an earlier run has begun may be done already, whatever is decided on its group now. */
  see({ intent }: Pick<LedgerGroup, "intent">): void {
    if (intendsRemoval(intent)) this.#counts.underWay++;
  }

  /** Nothing can be added afterwards. */
  summary(): RemovalSummary {
    return { ...this.#counts, code: this.#code.get() };
  }
}
