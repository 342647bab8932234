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

/**
 * What the source's database makes of a row, so that unchanged rows can be recognised without being read.
 * Both numbers depend on nothing but the row and the seed, and are compared with nothing but each other.
 */
export interface RowDigest {
  /** Depends on the id alone: 0 to `BUCKETS` - 1. */
  readonly bucket: number;
  /** A signed 64-bit integer over all columns that were asked for, in decimal. */
  readonly digest: string;
}

export const BUCKETS = 4096;

/** One row of the source. */
export interface TenantRow {
  /** In the order of the columns that were asked for; the id comes first. */
  readonly cells: readonly Cell[];
  readonly digest: RowDigest;
  /** `source.removed_when` is true of it: the tenant is gone, and the row says so. */
  readonly removed: boolean;
}

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
  /** Of the row that the group was computed from. */
  readonly row: RowDigest;
  /** What a later DELETE has to name as `data_source_provided_id`; null where nothing. */
  readonly dataSourceId: string | null;
}

/** A row that says that its tenant is gone. */
export interface FlaggedTenant {
  readonly kind: "flagged";
  readonly user_group_id: string;
}

export type Tenant = DesiredTenant | FlaggedTenant | RejectedTenant;
