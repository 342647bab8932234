import type { Apply } from "../core/change.ts";
import { changedFields, type FieldChange } from "../core/diff.ts";
import type { Plan, PlanEntry } from "../engine/plan.ts";
import type { LedgerView } from "../ports/ledger.ts";

/** An entry of a plan; an update with the fields that change, where the ledger knows what was before. */
export interface PlanLine {
  readonly entry: PlanEntry;
  readonly changes?: readonly FieldChange[];
}

/** The plan's entries in the order of the ids, with the changes of updates looked up a batch at a time. */
export async function* planLines(plan: Plan, ledger: LedgerView): AsyncGenerator<PlanLine> {
  for await (const entries of plan.entries.read()) {
    const updates = entries.filter(isUpdate);
    const before = await ledger.confirmed(updates.map((entry) => entry.user_group_id));
    for (const entry of entries) {
      const known = isUpdate(entry) ? before.get(entry.user_group_id) : undefined;
      yield known && isUpdate(entry) ? { entry, changes: changedFields(known, entry.group) } : { entry };
    }
  }
}

const isUpdate = (entry: PlanEntry): entry is Apply => entry.kind === "update" || entry.kind === "replace";
