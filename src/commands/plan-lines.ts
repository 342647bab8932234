import type { Apply } from "../core/change.ts";
import { changedFields, type FieldChange } from "../core/diff.ts";
import type { Group } from "../core/group.ts";
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
    const updated = entries.filter(isUpdate).map((entry) => entry.user_group_id);
    const before = updated.length > 0 ? await ledger.confirmed(updated) : new Map<string, Group>();
    for (const entry of entries) {
      const known = isUpdate(entry) ? before.get(entry.user_group_id) : undefined;
      yield known && isUpdate(entry) ? { entry, changes: changedFields(known, entry.group) } : { entry };
    }
  }
}

const isUpdate = (entry: PlanEntry): entry is Apply => entry.kind === "update" || entry.kind === "replace";
