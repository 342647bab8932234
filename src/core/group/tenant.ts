import type { Json } from "../text/json.ts";
import type { Group } from "./group.ts";

/** A column value that JSON can't carry. `reason` continues a sentence that begins with "column x". */
export class Unusable {
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

export type Cell = Json | Unusable;

/**
 * Computed from a row by the source's database, to recognise unchanged rows without reading them. Both numbers depend
 * only on the row and the seed. Compare them only with numbers from the same database and seed.
 */
export interface RowDigest {
  /** 0 to `BUCKETS` - 1. Depends only on the id. */
  readonly bucket: number;
  /** A signed 64-bit integer in decimal. Depends on all columns that the query selects. */
  readonly digest: string;
}

export const BUCKETS = 4096;

/** The number of rows in a bucket, and the exact sum of their digests, in decimal. */
export interface BucketSum {
  readonly bucket: number;
  readonly rows: number;
  readonly sum: string;
}

/** As a source has it: the rows that are ready, and beside them the number of those that are not. */
export interface SourceBucket extends BucketSum {
  readonly notReady: number;
}

export interface TenantRow {
  /** In the order of the selected columns; the id comes first. */
  readonly cells: readonly Cell[];
  readonly digest: RowDigest;
  /** `source.removed_when` is true for the row: its tenant is gone. */
  readonly removed: boolean;
  /** `source.ready_when` is not true for the row. False for a removed row. */
  readonly notReady: boolean;
}

export type RejectionCode =
  | "ID_NULL"
  | "ID_EMPTY"
  | "ID_TOO_LONG"
  | "ID_UNUSABLE"
  | "ID_DUPLICATE"
  | "VALUE_NULL"
  | "VALUE_EMPTY"
  | "VALUE_UNUSABLE"
  | "GROUP_TOO_LARGE";

/** A tenant row from which no desired group can be computed. */
export interface RejectedTenant {
  readonly kind: "rejected";
  /** Null if the row has no usable id. */
  readonly user_group_id: string | null;
  readonly bucket: number;
  readonly code: RejectionCode;
  readonly message: string;
}

/** A tenant row and the user group that it should have. */
export interface DesiredTenant {
  readonly kind: "desired";
  readonly user_group_id: string;
  readonly group: Group;
  readonly fingerprint: string;
  /** The digest of the row from which the group was computed. */
  readonly row: RowDigest;
  /** What a later DELETE sends as `data_source_provided_id`; null if it sends none. */
  readonly dataSourceId: string | null;
}

/** A tenant whose row says that the tenant is gone (`source.removed_when`). */
export interface FlaggedTenant {
  readonly kind: "flagged";
  readonly user_group_id: string;
}

/** A tenant whose row says that the tenant has to wait (`source.ready_when`). */
export interface NotReadyTenant {
  readonly kind: "not_ready";
  /** Null if the row has no usable id yet. */
  readonly user_group_id: string | null;
}

export type Tenant = DesiredTenant | FlaggedTenant | NotReadyTenant | RejectedTenant;

/** The longest id, in bytes of UTF-8: a primary key can hold it in every supported database. */
export const MAX_ID_BYTES = 512;

/** Whether a group can have this id. Not every database can be asked for any other text. */
export const isUsableId = (id: string): boolean =>
  id !== "" && !id.includes("\0") && Buffer.byteLength(id) <= MAX_ID_BYTES;

const SURROGATES = 0xd800;
const ABOVE_SURROGATES = 0xe000;

/**
 * Orders ids by their UTF-8 bytes, as `COLLATE "C"` and a binary cast do.
 * JavaScript's own `<` orders by UTF-16 code units, which puts U+10000 and above before U+E000 to U+FFFF.
 */
export function compareIds(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const left = a.charCodeAt(i);
    const right = b.charCodeAt(i);
    if (left !== right) return codePointRank(left) - codePointRank(right);
  }
  return a.length - b.length;
}

/** Ranks surrogates, which are halves of the highest code points, above every other code unit. */
function codePointRank(unit: number): number {
  if (unit < SURROGATES) return unit;
  return unit < ABOVE_SURROGATES ? unit + 0x2000 : unit - 0x800;
}
