import type { Catalog, CatalogColumn, CatalogTable, ColumnKind } from "../../../core/setup/catalog.ts";
import { databaseError } from "../connection/failures.ts";
import type { Database } from "../dialect/database.ts";

/** How one kind of database is asked for its catalog. */
export interface CatalogSql {
  readonly dialect: Catalog["dialect"];
  readonly database: string;
  /**
   * One row for each column of each table and view, in their order, with the names of `ColumnRow`. Without the system's own
   * tables, without partitions and without groupsync's. A column with two foreign keys may come twice.
   */
  readonly columns: string;
}

/** MySQL has 0 and 1 for booleans. */
type Truth = boolean | number | string | null;

interface ColumnRow {
  readonly schema: string;
  readonly table: string;
  readonly isView: Truth;
  readonly owner: string | null;
  readonly isOurs: Truth;
  readonly isReadable: Truth;
  readonly column: string;
  /** Of the type, or of the type below a domain. */
  readonly typeName: string;
  readonly isNullable: Truth;
  readonly key: CatalogColumn["key"];
  readonly isIndexed: Truth;
  readonly toSchema: string | null;
  readonly toTable: string | null;
  readonly toColumn: string | null;
}

/**
 * Reads what a database says of its tables, and no row of them. A MySQL url that names a database stands for this database
 * alone. Rejects with SOURCE_UNAVAILABLE if the database can't be reached or asked, with CONFIG_TLS, and with INTERRUPTED
 * once this process is told to stop.
 */
export async function readCatalog(database: Database, sql: CatalogSql): Promise<Catalog> {
  try {
    const [current] = await database.query<{ name: string | null }>(`SELECT ${sql.database} AS "name"`);
    const rows = await database.query<ColumnRow>(sql.columns);
    return { dialect: sql.dialect, database: current?.name ?? null, tables: tablesOf(rows) };
  } catch (error) {
    throw databaseError(database.dialect, "SOURCE_UNAVAILABLE", "cannot read the database's catalog", error);
  }
}

function tablesOf(rows: readonly ColumnRow[]): readonly CatalogTable[] {
  const tables = new Map<string, ColumnRow[]>();
  for (const row of rows) {
    const key = JSON.stringify([row.schema, row.table]);
    const own = tables.get(key);
    if (own) own.push(row);
    else tables.set(key, [row]);
  }
  return [...tables.values()].flatMap((own) => (own[0] ? [tableOf(own[0], own)] : []));
}

function tableOf(first: ColumnRow, rows: readonly ColumnRow[]): CatalogTable {
  const { schema, table: name, owner } = first;
  const columns = [...new Map(rows.toReversed().map((row) => [row.column, row])).values()].toReversed();
  return {
    schema,
    name,
    kind: isTrue(first.isView) ? "view" : "table",
    owner,
    isOurs: isTrue(first.isOurs),
    isReadable: rows.every(({ isReadable }) => isTrue(isReadable)),
    columns: columns.map((row) => ({
      name: row.column,
      kind: kindOf(row.typeName),
      isNullable: isTrue(row.isNullable),
      key: row.key,
      isIndexed: isTrue(row.isIndexed),
      refersTo: linkOf(row),
    })),
  };
}

const isTrue = (value: Truth): boolean => Number(value) === 1;

const linkOf = ({ toSchema, toTable, toColumn }: ColumnRow): CatalogColumn["refersTo"] =>
  toSchema === null || toTable === null || toColumn === null
    ? null
    : { schema: toSchema, table: toTable, column: toColumn };

/** The kinds by the names of the types of both databases. TINYINT(1) and BIT(1) stand for booleans. */
const KINDS: readonly (readonly [RegExp, ColumnKind])[] = [
  [/^(bool|tinyint\(1\)|bit\(1\))/, "boolean"],
  [/^(text|varchar|bpchar|char|citext|name|tinytext|mediumtext|longtext)\b/, "text"],
  [/^(int[248]?|tinyint|smallint|mediumint|bigint)\b/, "integer"],
  [/^(timestamp|timestamptz|datetime)\b/, "timestamp"],
  [/^uuid\b/, "uuid"],
  [/^date\b/, "date"],
];

const kindOf = (typeName: string): ColumnKind =>
  KINDS.find(([names]) => names.test(typeName.toLowerCase()))?.[1] ?? "other";
