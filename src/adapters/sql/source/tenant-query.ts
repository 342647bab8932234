import { hash } from "node:crypto";
import type { TenantRow } from "../../../core/group/tenant.ts";
import { type CellParser, parseCells } from "./cells.ts";

/** The conditions that the config has, as they stand there. */
export interface SourceConditions {
  /** An SQL predicate on the table's rows. */
  readonly where?: string | undefined;
  /** An SQL predicate that is true of the rows whose tenants are gone. */
  readonly removedWhen?: string | undefined;
  /** An SQL predicate that is true of the rows that are ready. Every row is, if left out. */
  readonly readyWhen?: string | undefined;
}

/** The parts of the SQL that reads the source's rows, in one database's dialect, and how the values become cells. */
export interface DialectQuery {
  /** The columns as text. The id comes first. */
  readonly selected: readonly string[];
  /** The parser of each selected column. */
  readonly parsers: readonly CellParser[];
  /** Orders by the UTF-8 bytes of the id, and puts rows without an id last. */
  readonly order: string;
  /** The row's bucket, computed from the id alone. */
  readonly bucket: string;
  /** The row's digest: a signed 64-bit integer. */
  readonly digest: string;
  /** The SELECT for a SourceBucket of each bucket. `from` is the FROM clause, with the conditions. */
  selectSums(from: string): string;
  /** A predicate that is true for the rows in these buckets. */
  inBuckets(buckets: readonly number[]): string;
  /** Those of the ids that the id column's type can hold. No row has any other. */
  idsHeld(ids: readonly string[]): Promise<readonly string[]>;
  /**
   * A predicate that is true for the rows of these ids, which the type has to hold. It compares the column itself, so that
   * the column's index serves. So it may also be true for rows of other ids that the column takes for the same.
   */
  hasIdOf(ids: readonly string[]): string;
}

export interface TenantQuery extends DialectQuery {
  readonly relation: string;
  /** A SELECT that reads no row and has the columns of the source that the read uses, the id first. */
  readonly columns: string;
  /** Only rows for which all of these predicates are true are tenants. */
  readonly conditions: readonly string[];
  /**
   * A predicate that is true for a row whose tenant is gone. It is false for every other row, and never null. Undefined
   * if the config has no `source.removed_when`.
   */
  readonly removed: string | undefined;
  /**
   * A predicate that is true for a row that is not ready. It is false for every other row, and never null. Undefined if
   * the config has no `source.ready_when`.
   */
  readonly notReady: string | undefined;
}

/**
 * A lookup may read other tables whole that have no more rows: a list of plans that the config's query joins, for example.
 */
export const FEW_ROWS = 10_000;

/** A row of `selectRows`: bucket, digest, the selected columns, and a mark if rows can be removed or not ready. */
export type RawRow = readonly [bucket: number | string, digest: string, ...cells: (string | null)[]];

/** The SELECT for the rows of these buckets, or of all buckets. */
export const selectRows = (query: TenantQuery, buckets?: readonly number[]): string =>
  selectWhere(query, buckets ? [query.inBuckets(buckets)] : []);

/** The SELECT for the rows of these ids, and maybe of others: see `TenantQuery.hasIdOf`. */
export const selectRowsOf = (query: TenantQuery, ids: readonly string[]): string =>
  selectWhere(query, [query.hasIdOf(ids)]);

/** The marks of rows. A removed row has no other mark. */
const REMOVED = "removed";
const NOT_READY = "not ready";

function selectWhere(query: TenantQuery, wanted: readonly string[]): string {
  const { relation, conditions, removed, notReady, selected, order, bucket, digest } = query;
  const marks = [
    ...(removed === undefined ? [] : [`WHEN ${removed} THEN '${REMOVED}'`]),
    ...(notReady === undefined ? [] : [`WHEN ${notReady} THEN '${NOT_READY}'`]),
  ];
  const mark = marks.length === 0 ? [] : [`CASE ${marks.join(" ")} END`];
  return `SELECT ${[bucket, digest, ...selected, ...mark].join(", ")}
      FROM ${relation} ${whereAll([...conditions, ...wanted])} ORDER BY ${order}`;
}

export const tenantRow = (
  { parsers }: Pick<TenantQuery, "parsers">,
  [bucket, digest, ...cells]: RawRow,
): TenantRow => ({
  cells: parseCells(cells, parsers),
  digest: { bucket: Number(bucket), digest },
  removed: cells[parsers.length] === REMOVED,
  notReady: cells[parsers.length] === NOT_READY,
});

/** An aggregate's argument that leaves out rows that are not ready. */
export const ofReadyRows = (notReady: string | undefined, value: string): string =>
  notReady === undefined ? value : `CASE WHEN ${notReady} THEN NULL ELSE ${value} END`;

/** An aggregate's argument for the rows that are not ready. */
export const ofRowsNotReady = (notReady: string | undefined): string =>
  notReady === undefined ? "NULL" : `CASE WHEN ${notReady} THEN 1 END`;

/** The SELECT for the sums of all buckets, without removed rows. */
export function selectBuckets({ relation, conditions, removed, selectSums }: TenantQuery): string {
  const active = removed === undefined ? conditions : [...conditions, `NOT ${removed}`];
  return selectSums(`FROM ${relation} ${whereAll(active)}`);
}

/**
 * What every digest of a read begins with. The types are in it because the same text is another value in a column of
 * another type: the text '1' is not the number 1.
 */
export const typedSeed = (seed: string, types: readonly (string | undefined)[]): string =>
  hash("sha256", JSON.stringify([seed, ...types]), "base64url");

/**
 * Makes a predicate of the config false for rows on which it is null. The line break ends a comment at the predicate's
 * end.
 */
export const isTrue = (predicate: string): string => `((${predicate}\n) IS TRUE)`;

/** The predicates of the config, as `TenantQuery` has them. */
export const marksOf = ({
  removedWhen,
  readyWhen,
}: SourceConditions): Pick<TenantQuery, "removed" | "notReady"> => ({
  removed: removedWhen === undefined ? undefined : isTrue(removedWhen),
  notReady: readyWhen === undefined ? undefined : `(NOT ${isTrue(readyWhen)})`,
});

/** A WHERE clause, or nothing. The line breaks end comments that the conditions may end with. */
export const whereAll = (conditions: readonly string[]): string =>
  conditions.length === 0 ? "" : `WHERE ${conditions.map((condition) => `(${condition}\n)`).join(" AND ")}`;

/**
 * A WHERE clause that tries the config's conditions, or nothing. In all other statements they stand in parentheses. SQL
 * that closes these could change the statement, and makes no sense without them: here it is a mistake. The line breaks
 * end comments.
 */
export function whereTrying({ where, removedWhen, readyWhen }: SourceConditions): string {
  const whens = [where, removedWhen, readyWhen].flatMap((sql) =>
    sql === undefined ? [] : `WHEN ${sql}\n THEN 1`,
  );
  return whens.length === 0 ? "" : `WHERE CASE ${whens.join(" ")} END = 1`;
}
