/** What information_schema says of a column. */
export interface ColumnInfo {
  readonly name: string;
  /** Such as `int`. */
  readonly type: string;
  /** Such as `int(10) unsigned`. */
  readonly fullType: string;
  /** Null where it holds no text. */
  readonly charset: string | null;
  readonly collation: string | null;
  /** How it is computed; null or empty where it is not. */
  readonly computed: string | null;
}

/** How the rows of ids, which are text, are found by a column of any type. */
export interface IdColumn {
  /** Whether an id can be in the column. One that can't must not get into SQL: 'abc' would be 0, or an error. */
  readonly takes: (id: string) => boolean;
  /** True of the rows whose ids are `t.id`, a text. The column is quoted. */
  readonly matches: (column: string) => string;
  /** The column as text. It is quoted. */
  readonly text: (column: string) => string;
}

/** Finds the rows by any column, without its index. */
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

/** Compares as the column does, for its index, and by bytes where a collation takes 'a' for 'A', or for 'a '. */
export function idColumnOf({ type, fullType, charset, collation }: ColumnInfo): IdColumn {
  const bits = BITS[type];
  if (bits !== undefined) {
    const unsigned = fullType.includes("unsigned");
    return {
      takes: integersOf(bits, unsigned),
      matches: (column) => `${column} = CAST(t.id AS ${unsigned ? "UNSIGNED" : "SIGNED"})`,
      // Without the zeros that ZEROFILL puts before it.
      text: (column) => ANY_COLUMN.text(`(${column} + 0)`),
    };
  }
  if (type === "uuid") {
    return {
      ...ANY_COLUMN,
      takes: (id) => UUID.test(id),
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

/** As the database writes it. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const INTEGER = /^(0|-?[1-9]\d{0,19})$/;

const integersOf =
  (bits: number, unsigned: boolean) =>
  (id: string): boolean =>
    INTEGER.test(id) && BigInt(id) === (unsigned ? BigInt.asUintN : BigInt.asIntN)(bits, BigInt(id));
