import type {
  Catalog,
  CatalogColumn,
  CatalogLink,
  CatalogTable,
  ColumnKind,
} from "../../../core/proposal/catalog.ts";
import type { CatalogReader } from "../../../ports/setup.ts";
import type { Connections } from "../../sql/connection/connections.ts";
import { databaseError } from "../../sql/connection/failures.ts";
import { failures } from "../connection/failures.ts";

/** MySQL calls the columns of its catalog in capitals: each has a name of its own here. */
interface TableRow {
  readonly schema: string;
  readonly name: string;
  readonly kind: string;
  /** Of a view. */
  readonly definer: string | null;
  readonly isOurs: string | number;
}

interface ColumnRow {
  readonly schema: string;
  readonly table: string;
  readonly name: string;
  /** The name of the type, and the whole type. */
  readonly dataType: string;
  readonly type: string;
  readonly isNullable: string;
  readonly extra: string;
  /** What the user may do with the column: `select,insert`. */
  readonly rights: string;
}

interface IndexRow {
  readonly schema: string;
  readonly table: string;
  readonly index: string;
  /** Of the first column. Null for an expression. */
  readonly column: string | null;
  /** How many characters of the column are in the index; null for all. */
  readonly part: number | null;
  readonly isUnique: string | number;
  readonly width: string | number;
}

interface LinkRow extends CatalogLink {
  readonly schema: string;
  readonly table: string;
}

/** The schemas in question: that of the url, or all but the server's and groupsync's own. */
const inQuestion = (schema: string): string =>
  `(${schema} = DATABASE() OR DATABASE() IS NULL AND ${schema} NOT IN
    ('information_schema', 'mysql', 'performance_schema', 'sys', 'groupsync', 'groupsync_tokens'))`;

const TABLES = `
  SELECT TABLE_SCHEMA AS "schema", TABLE_NAME AS "name", TABLE_TYPE AS "kind",
    DEFINER AS "definer", COALESCE(TABLE_SCHEMA = DATABASE(), FALSE)
      AND (TABLE_TYPE <> 'VIEW' OR COALESCE(CAST(DEFINER AS BINARY) = CAST(CURRENT_USER() AS BINARY), FALSE)) AS "isOurs"
  FROM information_schema.TABLES LEFT JOIN information_schema.VIEWS USING (TABLE_SCHEMA, TABLE_NAME)
  WHERE ${inQuestion("TABLE_SCHEMA")} AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED', 'VIEW')
    AND TABLE_NAME NOT LIKE 'groupsync|_%' ESCAPE '|'`;

const COLUMNS = `
  SELECT TABLE_SCHEMA AS "schema", TABLE_NAME AS "table", COLUMN_NAME AS "name", DATA_TYPE AS "dataType",
    COLUMN_TYPE AS "type", IS_NULLABLE AS "isNullable", EXTRA AS "extra", PRIVILEGES AS "rights"
  FROM information_schema.COLUMNS WHERE ${inQuestion("TABLE_SCHEMA")}
  ORDER BY ORDINAL_POSITION`;

const INDEXES = `
  SELECT TABLE_SCHEMA AS "schema", TABLE_NAME AS "table", INDEX_NAME AS "index",
    MAX(CASE WHEN SEQ_IN_INDEX = 1 THEN COLUMN_NAME END) AS "column",
    MAX(CASE WHEN SEQ_IN_INDEX = 1 THEN SUB_PART END) AS "part",
    MAX(NON_UNIQUE) = 0 AS "isUnique", COUNT(*) AS "width"
  FROM information_schema.STATISTICS WHERE ${inQuestion("TABLE_SCHEMA")}
  GROUP BY TABLE_SCHEMA, TABLE_NAME, INDEX_NAME`;

/** Foreign keys of one column. */
const LINKS = `
  SELECT TABLE_SCHEMA AS "schema", TABLE_NAME AS "table", MAX(COLUMN_NAME) AS "column",
    MAX(REFERENCED_TABLE_SCHEMA) AS "toSchema", MAX(REFERENCED_TABLE_NAME) AS "toTable",
    MAX(REFERENCED_COLUMN_NAME) AS "toColumn"
  FROM information_schema.KEY_COLUMN_USAGE
  WHERE ${inQuestion("TABLE_SCHEMA")} AND REFERENCED_TABLE_NAME IS NOT NULL
  GROUP BY TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME HAVING COUNT(*) = 1`;

/** The kinds by the names of the types. */
const KINDS: Readonly<Record<string, ColumnKind>> = {
  char: "text",
  varchar: "text",
  tinytext: "text",
  text: "text",
  mediumtext: "text",
  longtext: "text",
  tinyint: "integer",
  smallint: "integer",
  mediumint: "integer",
  int: "integer",
  bigint: "integer",
  uuid: "uuid",
  decimal: "number",
  float: "number",
  double: "number",
  enum: "choice",
  timestamp: "timestamp",
  datetime: "timestamp",
  date: "date",
  json: "json",
  binary: "bytes",
  varbinary: "bytes",
  tinyblob: "bytes",
  blob: "bytes",
  mediumblob: "bytes",
  longblob: "bytes",
};

export class MysqlCatalogReader implements CatalogReader {
  readonly #database: Connections;

  constructor(database: Connections) {
    this.#database = database;
  }

  async read(): Promise<Catalog> {
    try {
      const [current] = await this.#database.query<{ name: string | null }>("SELECT DATABASE() AS name");
      const [tables, columns, indexes, links] = [
        await this.#database.query<TableRow>(TABLES),
        await this.#database.query<ColumnRow>(COLUMNS),
        await this.#database.query<IndexRow>(INDEXES),
        await this.#database.query<LinkRow>(LINKS),
      ];
      const columnsOf = grouped(columns, keyOf);
      const indexesOf = grouped(indexes, keyOf);
      const linksOf = grouped(links, keyOf);
      return {
        dialect: "mysql",
        database: current?.name ?? null,
        tables: tables.map(({ kind, definer, isOurs, ...table }): CatalogTable => {
          const key = keyOf({ ...table, table: table.name });
          const own = columnsOf.get(key) ?? [];
          return {
            ...table,
            kind: kind === "VIEW" ? "view" : "table",
            owner: definer,
            isOurs: Number(isOurs) === 1,
            // A user with other rights to the table sees the table, and none of its columns.
            isReadable: own.length > 0 && own.every(({ rights }) => rights.split(",").includes("select")),
            isPartitioned: false,
            columns: own.map((row) => columnOf(row, indexesOf.get(key) ?? [])),
            links: (linksOf.get(key) ?? []).map(({ column, toSchema, toTable, toColumn }) => ({
              ...{ column, toSchema, toTable, toColumn },
            })),
          };
        }),
      };
    } catch (error) {
      throw databaseError(failures, "SOURCE_UNAVAILABLE", "cannot read the database's catalog", error);
    }
  }
}

const keyOf = ({ schema, table }: { readonly schema: string; readonly table: string }): string =>
  JSON.stringify([schema, table]);

function columnOf(row: ColumnRow, indexes: readonly IndexRow[]): CatalogColumn {
  const leading = indexes.filter(({ column, part }) => column === row.name && part === null);
  const alone = leading.filter(({ isUnique, width }) => Number(isUnique) === 1 && Number(width) === 1);
  const isPrimary = alone.some(({ index }) => index === "PRIMARY");
  return {
    name: row.name,
    type: row.type,
    kind: kindOf(row),
    isNullable: row.isNullable === "YES",
    key: isPrimary ? "primary" : alone.length > 0 ? "unique" : null,
    isIndexed: leading.length > 0,
    movesItself: /on update current_timestamp/i.test(row.extra),
  };
}

/** TINYINT(1) and BIT(1) stand for booleans. */
const kindOf = ({ dataType, type }: ColumnRow): ColumnKind =>
  /^(tinyint|bit)\(1\)/i.test(type) ? "boolean" : (KINDS[dataType.toLowerCase()] ?? "other");

function grouped<T>(rows: readonly T[], key: (row: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const row of rows) {
    const group = groups.get(key(row));
    if (group) group.push(row);
    else groups.set(key(row), [row]);
  }
  return groups;
}
