import { isOfChange } from "./change.ts";
import { absenceKind, type Decision, standingAbsence, wasNeverMade } from "./decide.ts";
import type { Reading } from "./evidence.ts";
import type { AbsenceKind, LedgerGroup } from "./ledger-group.ts";
import type { RowDigest, Tenant } from "./tenant.ts";

/** The tenant is gone, in another way than was noted before. */
export interface LeftNote {
  readonly kind: "left";
  readonly user_group_id: string;
  readonly absence: AbsenceKind;
}

/** The tenant came back, or its group was never made and is not wanted any more. */
export interface BareNote {
  readonly kind: "returned" | "forgotten";
  readonly user_group_id: string;
}

/** The group is what it should be, whatever was noted before; and this is its row by now. */
export interface SettledNote {
  readonly kind: "settled";
  readonly user_group_id: string;
  readonly row: RowDigest;
  readonly dataSourceId: string | null;
  /** Its tenant had been gone, and is back. */
  readonly wasGone: boolean;
}

/** For the ledger alone. */
export type Note = LeftNote | BareNote | SettledNote;

/**
 * What the ledger has to note of an id, beside what is decided on it. Null where nothing, or nothing new.
 *
 * | tenant  | decided   | in the ledger                            | note      |
 * |---------|-----------|------------------------------------------|-----------|
 * | gone    | any       | never made                               | forgotten |
 * | gone    | any       | not gone, or gone in another way, or     | left      |
 * |         |           | noted by a read that came to nothing     |           |
 * | desired | nothing   | gone, failed, or with another row        | settled   |
 * | present | something | gone                                     | returned  |
 *
 * A rejected row counts as present.
 */
export function noteOn(
  tenant: Tenant | undefined,
  known: LedgerGroup | undefined,
  decided: Decision | null,
  reading: Reading,
): Note | null {
  if (known === undefined) return null;
  const { user_group_id, absence, failure } = known;
  if (tenant === undefined || tenant.kind === "flagged") {
    if (wasNeverMade(known)) return { kind: "forgotten", user_group_id };
    const kind = absenceKind(tenant, known, reading);
    if (standingAbsence(known, kind, reading)) return null;
    return { kind: "left", user_group_id, absence: kind };
  }
  if (decided === null && tenant.kind === "desired") {
    // That its token could not be rotated says nothing of the group.
    const hasFailed = failure !== null && isOfChange(failure);
    const asNoted = absence === null && !hasFailed && sameRow(known.row, tenant.row);
    return asNoted
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

const sameRow = (a: RowDigest | null, b: RowDigest): boolean =>
  a?.digest === b.digest && a.bucket === b.bucket;
