import { hash } from "node:crypto";
import type { CellParser } from "./cells.ts";

/** The parts of the SQL that reads the source's rows, in one database's dialect, and how the values become cells. */
export interface TenantQuery {
  readonly relation: string;
  /** Only rows for which all of these predicates are true are tenants. */
  readonly conditions: readonly string[];
  /**
   * A predicate that is true for a row whose tenant is gone. It is false for every other row, and never null. Undefined
   * if the config has no `source.removed_when`.
   */
  readonly removed: string | undefined;
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
  /** The columns of a BucketSum, for a query that groups by the first of them. */
  readonly bucketSum: string;
  /** A predicate that is true for the rows in these buckets. */
  inBuckets(buckets: readonly number[]): string;
}

/** A row of `selectRows`: bucket, digest, the selected columns, and `'1'` on a removed row if rows can be removed. */
export type RawRow = readonly [bucket: number | string, digest: string, ...cells: (string | null)[]];

/** The SELECT for the rows of these buckets, or of all buckets. */
export function selectRows(query: TenantQuery, buckets?: readonly number[]): string {
  const { relation, conditions, removed, selected, order, bucket, digest } = query;
  const wanted = buckets ? [...conditions, query.inBuckets(buckets)] : conditions;
  const mark = removed === undefined ? [] : [`CASE WHEN ${removed} THEN '1' END`];
  return `SELECT ${[bucket, digest, ...selected, ...mark].join(", ")}
      FROM ${relation} ${whereAll(wanted)} ORDER BY ${order}`;
}

/** The SELECT for the sums of all buckets, without removed rows. */
export function selectBuckets({ relation, conditions, removed, bucketSum }: TenantQuery): string {
  const active = removed === undefined ? conditions : [...conditions, `NOT ${removed}`];
  // GROUP BY the column's position: its name could be one of the customer's columns.
  return `SELECT ${bucketSum} FROM ${relation} ${whereAll(active)} GROUP BY 1`;
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

/** A WHERE clause, or nothing. The line breaks end comments that the conditions may end with. */
export const whereAll = (conditions: readonly string[]): string =>
  conditions.length === 0 ? "" : `WHERE ${conditions.map((condition) => `(${condition}\n)`).join(" AND ")}`;
