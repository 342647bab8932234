import { isInteger, isUuid } from "../../sql/connection/id-texts.ts";

/** What information_schema says of a column. */
export interface ColumnInfo {
  readonly name: string;
  /** Such as `int`. */
  readonly type: string;
  /** Such as `int(10) unsigned`. */
  readonly fullType: string;
  /** Null if the column holds no text. */
  readonly charset: string | null;
  readonly collation: string | null;
  /** How the column is computed; null or empty for other columns. */
  readonly computed: string | null;
}

/** How to find the rows of ids, which are text, by a column of any type. */
export interface IdColumn {
  /**
   * Whether an id can be in the column. Leave other ids out of SQL: the server takes 'abc' for 0, or raises an error.
   */
  readonly takes: (id: string) => boolean;
  /** A condition: the row has the id `t.id`, a text. The column is quoted. */
  readonly matches: (column: string) => string;
  /** The column as text. The column is quoted. */
  readonly text: (column: string) => string;
}

/** Finds rows by a column of any type, but not by its index. */
export const ANY_COLUMN: IdColumn = {
  takes: () => true,
  matches: (column) => `CAST(CONVERT(${column} USING utf8mb4) AS BINARY) = CAST(t.id AS BINARY)`,
  text: (column) => `CONVERT(${column} USING utf8mb4)`,
};

export const TEXT_TYPES: ReadonlySet<string> = new Set([
  "char",
  "varchar",
  "tinytext",
  "text",
  "mediumtext",
  "longtext",
]);

const BYTE_TYPES: ReadonlySet<string> = new Set(["binary", "varbinary", "tinyblob", "blob", "mediumblob"]);

const BITS: Readonly<Record<string, number>> = {
  tinyint: 8,
  smallint: 16,
  mediumint: 24,
  int: 32,
  bigint: 64,
};

/** Compares as the column does, to use its index; also by bytes if the collation takes 'a' for 'A' or for 'a '. */
export function idColumnOf({ type, fullType, charset, collation }: ColumnInfo): IdColumn {
  const bits = BITS[type];
  if (bits !== undefined) {
    const unsigned = fullType.includes("unsigned");
    return {
      takes: isInteger(bits, unsigned),
      matches: (column) => `${column} = CAST(t.id AS ${unsigned ? "UNSIGNED" : "SIGNED"})`,
      // `+ 0` drops the leading zeros of ZEROFILL.
      text: (column) => ANY_COLUMN.text(`(${column} + 0)`),
    };
  }
  if (type === "uuid") {
    return {
      ...ANY_COLUMN,
      takes: isUuid,
      matches: (column) => `${column} = CAST(t.id AS UUID)`,
    };
  }
  if (BYTE_TYPES.has(type)) {
    return { ...ANY_COLUMN, matches: (column) => `${column} = CAST(t.id AS BINARY)` };
  }
  if (!TEXT_TYPES.has(type)) return ANY_COLUMN;
  return {
    ...ANY_COLUMN,
    matches: (column) =>
      `${column} = CONVERT(t.id USING ${charset}) COLLATE ${collation} AND ${ANY_COLUMN.matches(column)}`,
  };
}
