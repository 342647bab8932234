import type { AbsenceKind, LedgerGroup } from "../group/ledger-group.ts";
import type { RowDigest, Tenant } from "../group/tenant.ts";
import {
  absenceKind,
  type PlannedAction,
  type PlanningContext,
  standingAbsence,
  wasNeverMade,
} from "./planned-action.ts";

/** The tenant is gone, and the ledger has recorded no absence yet, or another one than `standingAbsence` tells. */
export interface LeftUpdate {
  readonly kind: "left";
  readonly user_group_id: string;
  readonly absence: AbsenceKind;
}

/** `returned`: the tenant came back. `forgotten`: its group was never created, and the tenant is gone or not ready. */
interface BareUpdate {
  readonly kind: "returned" | "forgotten";
  readonly user_group_id: string;
}

/** The tenant is not ready, or its group is left as it is: clears its absence and its failed change, which nothing tries again. */
interface ClearedUpdate {
  readonly kind: "cleared";
  readonly user_group_id: string;
  /** The tenant was gone and came back. */
  readonly wasGone: boolean;
}

/** The group is as desired: clears its absence and its failed change, and records its row. */
export interface SettledUpdate {
  readonly kind: "settled";
  readonly user_group_id: string;
  readonly row: RowDigest;
  readonly dataSourceId: string | null;
  /** The tenant was gone and came back. */
  readonly wasGone: boolean;
}

/** An entry of a plan that needs no call to the service. */
export type LedgerUpdate = LeftUpdate | BareUpdate | ClearedUpdate | SettledUpdate;

/**
 * What the ledger has to record about an id, in addition to the planned action. The first row that fits counts. Null if
 * none fits: the ledger is up to date. Null too for a tenant that is gone, if the plan is for some tenants alone.
 *
 * | tenant              | planned action | in the ledger                           | ledger update |
 * |---------------------|----------------|-----------------------------------------|---------------|
 * | gone                | any            | the group was never created             | forgotten     |
 * | not ready           | any            | the group was never created             | forgotten     |
 * | not ready           | any            | an absence, or a failed change          | cleared       |
 * | desired             | outdated       | a failed change                         | cleared       |
 * | gone                | any            | no absence, another kind of absence, or | left          |
 * |                     |                | one that doesn't stand any more         |               |
 * | desired             | none           | an absence, a failed change, or another | settled       |
 * |                     |                | row digest                              |               |
 * | desired or rejected | any            | an absence                              | returned      |
 */
export function ledgerUpdateOf(
  tenant: Tenant | undefined,
  known: LedgerGroup | undefined,
  action: PlannedAction | null,
  { reading, isWhole }: Pick<PlanningContext, "reading" | "isWhole">,
): LedgerUpdate | null {
  if (known === undefined) return null;
  const { user_group_id, absence, failures } = known;
  if (tenant === undefined || tenant.kind === "flagged") {
    if (!isWhole) return null;
    if (wasNeverMade(known)) return { kind: "forgotten", user_group_id };
    const kind = absenceKind(tenant, known, reading);
    if (standingAbsence(known, kind, reading)) return null;
    return { kind: "left", user_group_id, absence: kind };
  }
  if (tenant.kind === "not_ready") {
    if (wasNeverMade(known)) return { kind: "forgotten", user_group_id };
    const wasGone = absence !== null;
    return wasGone || failures.change !== null ? { kind: "cleared", user_group_id, wasGone } : null;
  }
  if (action?.kind === "outdated" && failures.change !== null)
    return { kind: "cleared", user_group_id, wasGone: absence !== null };
  if (action === null && tenant.kind === "desired") {
    const isRecorded = absence === null && failures.change === null && sameRow(known, tenant.row);
    return isRecorded
      ? null
      : {
          kind: "settled",
          user_group_id,
          row: tenant.row,
          dataSourceId: tenant.dataSourceId,
          wasGone: absence !== null,
        };
  }
  return absence === null ? null : { kind: "returned", user_group_id };
}

const sameRow = (a: LedgerGroup, b: RowDigest): boolean => a.digest === b.digest && a.bucket === b.bucket;
