import type { Group } from "./group.ts";
import type { Json } from "./json.ts";

/** A column value that JSON can't carry, and why, as the end of "column x …". */
export class Unusable {
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

export type Cell = Json | Unusable;

/** The values of one source row, in the order of the columns that were asked for; the id comes first. */
export type TenantRow = readonly Cell[];

export type RejectionCode =
  | "ID_NULL"
  | "ID_EMPTY"
  | "ID_TOO_LONG"
  | "ID_UNUSABLE"
  | "ID_DUPLICATE"
  | "VALUE_NULL"
  | "VALUE_UNUSABLE"
  | "GROUP_TOO_LARGE";

/** A tenant row from which no desired group can be computed. */
export interface RejectedTenant {
  readonly kind: "rejected";
  /** Null where the row has no usable id. */
  readonly user_group_id: string | null;
  readonly code: RejectionCode;
  readonly message: string;
}

/** A tenant row and the user group that it should have. */
export interface DesiredTenant {
  readonly kind: "desired";
  readonly user_group_id: string;
  readonly group: Group;
  readonly fingerprint: string;
}

export type Tenant = DesiredTenant | RejectedTenant;
