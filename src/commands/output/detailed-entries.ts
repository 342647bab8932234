import type { Group } from "../../core/group/group.ts";
import { changedFields, type FieldChange } from "../../core/group/group-diff.ts";
import type { Apply } from "../../core/plan/change.ts";
import type { Plan, PlanEntry } from "../../engine/plan/plan.ts";
import type { GroupReads } from "../../ports/ledger/groups.ts";

/** An entry of a plan. An update has the fields that change, if the ledger knows the old values. */
export interface DetailedEntry {
  readonly entry: PlanEntry;
  readonly changes?: readonly FieldChange[];
}

/** The plan's entries, ordered by id. Reads the old values of updates from the ledger, a batch at a time. */
export async function* detailedEntries(plan: Plan, ledger: GroupReads): AsyncGenerator<DetailedEntry> {
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
