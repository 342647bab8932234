import type { ColumnType } from "../../sql/dialect/dialect.ts";

const TEXT = "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";

/**
 * A column's type in JSON_TABLE, and the SQL that reads it. Without a character set, JSON_TABLE takes the database's.
 */
const TYPES: Readonly<Record<ColumnType, (column: string) => readonly [type: string, read: string]>> = {
  id: (column) => [`VARCHAR(512) ${TEXT}`, `CAST(${column} AS BINARY)`],
  text: (column) => [`LONGTEXT ${TEXT}`, column],
  integer: (column) => ["INT", column],
  bigint: (column) => ["BIGINT", column],
  time: (column) => [
    `VARCHAR(40) ${TEXT}`,
    `CAST(REPLACE(REPLACE(${column}, 'T', ' '), 'Z', '') AS DATETIME(6))`,
  ],
};

/** The dialect's `rows`. */
export function jsonRows(parameter: string, columns: Readonly<Record<string, ColumnType>>): string {
  const read = Object.entries(columns).map(([name, type]) => `${TYPES[type](`j.${name}`)[1]} AS ${name}`);
  const typed = Object.entries(columns).map(
    ([name, type]) => `${name} ${TYPES[type](name)[0]} PATH '$.${name}'`,
  );
  return `(SELECT ${read.join(", ")} FROM JSON_TABLE(${parameter}, '$[*]' COLUMNS (${typed.join(", ")})) AS j) AS t`;
}
