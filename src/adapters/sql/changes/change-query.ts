import type { ChangePosition } from "../../../core/changes/change-window.ts";
import { SyncError } from "../../../core/failure/sync-error.ts";
import type { SourceRequest } from "../source/source-request.ts";
import { type TenantQuery, whereAll } from "../source/tenant-query.ts";

/** The parts of the SQL that asks the change column, in one database's dialect. */
export interface ChangeQuery {
  /** The column's type, for messages and to recognise another one. */
  readonly type: string;
  /** Whether the values are times and not numbers. */
  readonly isTime: boolean;
  /** The column, quoted. */
  readonly column: string;
  /** The exact text of the column's value. */
  readonly text: string;
  /** The exact text of the value that lies `OVERLAP_MS` before the column's. */
  readonly before: string;
  /** A predicate that is true for values that count: not null, and not too far ahead of the database's clock. */
  readonly counts: string;
  /** A value in SQL, from its exact text. */
  literal(text: string): string;
  /** The database's own operator with this symbol. */
  operator(symbol: ">=" | ">" | "<"): string;
}

/** Value, id and digest of a row. */
export type RawChange = readonly [value: string, id: string | null, digest: string];

export type RawNewest = readonly [value: string, before: string, id: string | null];

export interface ChangeRange {
  readonly from: ChangePosition;
  /** Rows have lower values than this one; null: any values. */
  readonly below: string | null;
  readonly limit: number;
}

/** The SELECT for the rows in a range. The names of its columns are no customer's: ORDER BY would take them first. */
export function selectChanges(
  change: ChangeQuery,
  { relation, conditions, selected, digest }: TenantQuery,
  { from, below, limit }: ChangeRange,
): string {
  const wanted = [...conditions, change.counts, ...valuesFrom(change, from), ...valuesBelow(change, below)];
  return `SELECT ${change.text} AS groupsync_value, ${selected[0]} AS groupsync_id, ${digest} AS groupsync_digest
    FROM ${relation} ${whereAll(wanted)} ORDER BY ${change.column} LIMIT ${limit}`;
}

const valuesFrom = ({ column, literal, operator }: ChangeQuery, from: ChangePosition): string[] =>
  from === null ? [] : [`${column} ${operator(from.isIncluded ? ">=" : ">")} ${literal(from.value)}`];

const valuesBelow = ({ column, literal, operator }: ChangeQuery, below: string | null): string[] =>
  below === null ? [] : [`${column} ${operator("<")} ${literal(below)}`];

/**
 * The SELECT for the newest value, the value before it, and an id. Over all rows, also those that aren't tenants: with a
 * condition that few rows fulfil, the search for the newest one could read all of them.
 */
export function selectNewest(
  change: ChangeQuery,
  { relation, selected }: Pick<TenantQuery, "relation" | "selected">,
  below: string | null,
): string {
  const { column, text, before, counts } = change;
  return `SELECT ${text} AS groupsync_value, ${before} AS groupsync_before, ${selected[0]} AS groupsync_id
    FROM ${relation} ${whereAll([counts, ...valuesBelow(change, below)])} ORDER BY ${column} DESC LIMIT 1`;
}

/** What a change column's query takes from the source's request. */
export type ColumnSource = Pick<SourceRequest, "name" | "relation" | "place" | "user" | "grantee">;

/** What a look-up of the change column asks for: no condition, for it looks at all rows. */
export const columnRequest = (
  { name, relation, place, user, grantee }: ColumnSource,
  column: string,
): SourceRequest => ({
  name: `source.changes.column: ${name}`,
  relation,
  user,
  grantee,
  ...(place && { place }),
  columns: [column],
  seed: "",
});

export const wrongChangeType = (column: string, type: string, right: string): SyncError =>
  new SyncError("CONFIG_COLUMNS", `source.changes.column: column ${column} is of type ${type}`, {
    hint: `it has to tell which row is newer: ${right}`,
  });
