import { escape as quoted, type TypeCastField, type TypeCastNext } from "mysql2";
import type { ColumnType } from "../../sql/dialect/dialect.ts";

/** Quoted texts and names, and the parameters outside of them. The statements have no comments. */
const QUOTED_OR_PARAMETER = /'(?:[^'\\]|''|\\.)*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\$(\d+)/gs;

/** An empty list for IN. */
const EMPTY = "SELECT NULL FROM DUAL WHERE FALSE";

/**
 * Puts the values in the places of $1, $2 …; an array becomes a list, for IN. The session must escape with backslashes
 * (no NO_BACKSLASH_ESCAPES) and have the time zone UTC.
 *
 * The driver's own placeholders don't fit. Its `query` also replaces a `?` in a name in double quotes, and makes an
 * empty list of an empty array, which is a syntax error. Its `execute` prepares statements: some statements can't be
 * prepared, a list needs a placeholder for each value and 65,535 are the most, and the server logs the values of
 * prepared statements.
 */
export const withValues = (text: string, values: readonly unknown[] = []): string =>
  text.replace(QUOTED_OR_PARAMETER, (found, parameter: string | undefined) =>
    parameter === undefined ? found : literal(values[Number(parameter) - 1]),
  );

function literal(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? EMPTY : value.map(literal).join(", ");
  if (value === null || value === undefined) return "NULL";
  switch (typeof value) {
    case "string":
      // The driver would escape double quotes too: that is most of what JSON has, and half the time of a large statement. A regular
      // expression takes three times as long.
      return `'${value.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
    case "number":
    case "bigint":
    case "boolean":
      return quoted(value);
  }
  if (value instanceof Date) return quoted(value, false, "Z");
  throw new TypeError("a statement takes texts, numbers, booleans, times, and arrays of them");
}

/** Reads a column of the ledger or of a token table: there, bytes are text and TINYINT(1) is a boolean. */
export function columnValue(field: TypeCastField, next: TypeCastNext): unknown {
  switch (field.type) {
    case "TINY": {
      if (field.length !== 1) return next();
      const text = field.string();
      return text === null ? null : text !== "0";
    }
    case "STRING":
    case "VAR_STRING":
    case "VARCHAR":
    case "TINY_BLOB":
    case "BLOB":
    case "MEDIUM_BLOB":
    case "LONG_BLOB":
      return field.string("utf8");
    case "JSON":
      // `field.string("utf8")` would have the driver warn on stderr for every row.
      return field.buffer()?.toString("utf8") ?? null;
    default:
      return next();
  }
}

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
