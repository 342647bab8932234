import { changedFields, type FieldChange } from "../../core/group/group.ts";
import type { Apply, Removal } from "../../core/plan/change.ts";
import { namesOf } from "../../core/record/candidates.ts";
import type { Missing } from "../../core/record/decide.ts";
import type { GroupRecord } from "../../core/record/record.ts";
import type { Plan, PlanEntry } from "../../engine/plan/plan.ts";
import type { LedgerView } from "../../ports/ledger/ledger.ts";

/** An entry of a plan. An update has the fields that change, if the ledger knows the old values. */
export interface DetailedEntry {
  readonly entry: PlanEntry;
  readonly changes?: readonly FieldChange[];
  /** Of a group that is there: its name, as the service last told it. */
  readonly name?: string;
}

/** The plan's entries, ordered by id. Reads names and the old values of updates from the ledger, a batch at a time. */
export async function* detailedEntries(
  plan: Plan,
  ledger: Pick<LedgerView, "records">,
): AsyncGenerator<DetailedEntry> {
  for await (const entries of plan.entries.read()) {
    const shown = entries.flatMap((entry) => (isUpdate(entry) || isNamed(entry) ? entry.user_group_id : []));
    const records = shown.length > 0 ? await ledger.records(shown) : new Map<string, GroupRecord>();
    const names = namesOf(records);
    for (const entry of entries) {
      const known = isUpdate(entry) ? records.get(entry.user_group_id)?.confirmed : undefined;
      const name = isNamed(entry) ? names.get(entry.user_group_id) : undefined;
      yield {
        entry,
        ...(known && isUpdate(entry) && { changes: changedFields(known, entry.group) }),
        ...(name !== undefined && { name }),
      };
    }
  }
}

/** Of a group that may go, an operator wants to know whose it is. */
const isNamed = (entry: PlanEntry): entry is Removal | Missing =>
  entry.kind === "delete" || entry.kind === "replace" || entry.kind === "missing";

const isUpdate = (entry: PlanEntry): entry is Apply => entry.kind === "update" || entry.kind === "replace";
