import type { Catalog, CatalogColumn, CatalogTable, ColumnKind } from "../../../core/proposal/catalog.ts";
import type { CatalogReader } from "../../../ports/setup.ts";
import type { Connections } from "../../sql/connection/connections.ts";
import { databaseError } from "../../sql/connection/failures.ts";
import { failures } from "../connection/failures.ts";
import { OUR_ROLES } from "../connection/table-place.ts";
import { typeName } from "./column-types.ts";

/** A row of TABLES. */
interface TableRow extends Omit<CatalogTable, "columns" | "kind" | "links"> {
  readonly isTable: boolean;
  readonly columns: readonly ColumnRow[] | null;
  readonly links: CatalogTable["links"] | null;
}

interface ColumnRow extends Pick<CatalogColumn, "name" | "type" | "isNullable" | "key" | "isIndexed"> {
  /** The base type, if the type is a domain; its kind in pg_type and its name. */
  readonly typeKind: string;
  readonly typeName: string;
}

/**
 * One row for each table or view, from the catalog alone: to plan a query on a table may run functions of its owner. An
 * index with a condition, on an expression or still invalid says nothing about all rows. A foreign key between partitions
 * counts for the table that they belong to.
 */
const TABLES = `
  WITH tables AS (
    SELECT c.oid, n.nspname, n.oid AS namespace, c.relname, c.relkind,
      pg_get_userbyid(c.relowner)::text AS owner,
      c.relowner = ANY (${OUR_ROLES}) AS ours
    FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND c.relpersistence <> 't'
      AND n.nspname !~ '^(pg_|information_schema$|groupsync(_tokens)?$)' AND c.relname !~ '^groupsync_'
      AND NOT EXISTS (
        SELECT FROM pg_catalog.pg_depend AS d
        WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')),
  keys AS (
    SELECT i.indrelid, i.indkey[0] AS attnum,
      bool_or(i.indisprimary AND i.indnkeyatts = 1) AS is_primary,
      bool_or(i.indisunique AND i.indnkeyatts = 1) AS is_unique
    FROM pg_catalog.pg_index AS i
    WHERE i.indisvalid AND i.indpred IS NULL AND i.indkey[0] <> 0
    GROUP BY 1, 2),
  types AS (
    WITH RECURSIVE based AS (
      SELECT t.oid, t.oid AS base, t.typtype, t.typbasetype FROM pg_catalog.pg_type AS t
      UNION ALL
      SELECT based.oid, t.oid, t.typtype, t.typbasetype
      FROM based JOIN pg_catalog.pg_type AS t ON t.oid = based.typbasetype
      WHERE based.typtype = 'd')
    SELECT based.oid, based.base FROM based WHERE based.typtype <> 'd'),
  columns AS (
    SELECT a.attrelid, json_agg(json_build_object(
        'name', a.attname,
        'type', format_type(a.atttypid, a.atttypmod),
        'isNullable', NOT a.attnotnull,
        'key', CASE WHEN k.is_primary THEN 'primary' WHEN k.is_unique THEN 'unique' END,
        'isIndexed', k.attnum IS NOT NULL,
        'typeKind', t.typtype,
        'typeName', ${typeName("t")}) ORDER BY a.attnum) AS columns
    FROM tables JOIN pg_catalog.pg_attribute AS a ON a.attrelid = tables.oid
      JOIN types ON types.oid = a.atttypid
      JOIN pg_catalog.pg_type AS t ON t.oid = types.base
      LEFT JOIN keys AS k ON k.indrelid = a.attrelid AND k.attnum = a.attnum
    WHERE a.attnum > 0 AND NOT a.attisdropped
    GROUP BY 1),
  links AS (
    SELECT c.conrelid, json_agg(json_build_object(
        'column', own.attname,
        'toSchema', n.nspname,
        'toTable', other.relname,
        'toColumn', key.attname) ORDER BY c.conname) AS links
    FROM pg_catalog.pg_constraint AS c
      JOIN pg_catalog.pg_attribute AS own ON own.attrelid = c.conrelid AND own.attnum = c.conkey[1]
      JOIN pg_catalog.pg_attribute AS key ON key.attrelid = c.confrelid AND key.attnum = c.confkey[1]
      JOIN pg_catalog.pg_class AS other ON other.oid = c.confrelid
      JOIN pg_catalog.pg_namespace AS n ON n.oid = other.relnamespace
    WHERE c.contype = 'f' AND cardinality(c.conkey) = 1 AND c.conparentid = 0
    GROUP BY 1)
  SELECT tables.nspname::text AS schema, tables.relname::text AS name, tables.relkind IN ('r', 'p') AS "isTable",
    has_schema_privilege(tables.namespace, 'USAGE') AND has_table_privilege(tables.oid, 'SELECT') AS "isReadable",
    tables.owner, tables.ours AS "isOurs",
    tables.relkind = 'p' AS "isPartitioned",
    columns.columns, links.links
  FROM tables
    LEFT JOIN columns ON columns.attrelid = tables.oid
    LEFT JOIN links ON links.conrelid = tables.oid
  ORDER BY 1, 2`;

const KINDS: Readonly<Record<string, ColumnKind>> = {
  text: "text",
  varchar: "text",
  bpchar: "text",
  citext: "text",
  name: "text",
  int2: "integer",
  int4: "integer",
  int8: "integer",
  uuid: "uuid",
  bool: "boolean",
  numeric: "number",
  float4: "number",
  float8: "number",
  timestamp: "timestamp",
  timestamptz: "timestamp",
  date: "date",
  json: "json",
  jsonb: "json",
  bytea: "bytes",
};

export class PostgresCatalogReader implements CatalogReader {
  readonly #database: Connections;

  constructor(database: Connections) {
    this.#database = database;
  }

  async read(): Promise<Catalog> {
    try {
      const [current] = await this.#database.query<{ name: string }>(
        "SELECT current_database()::text AS name",
      );
      const rows = await this.#database.query<TableRow>(TABLES);
      return { dialect: "postgres", database: current?.name ?? "", tables: rows.map(tableOf) };
    } catch (error) {
      throw databaseError(failures, "SOURCE_UNAVAILABLE", "cannot read the database's catalog", error);
    }
  }
}

const tableOf = ({ isTable, columns, links, ...table }: TableRow): CatalogTable => ({
  ...table,
  kind: isTable ? "table" : "view",
  columns: (columns ?? []).map(columnOf),
  links: links ?? [],
});

const columnOf = ({ typeKind, typeName, ...column }: ColumnRow): CatalogColumn => ({
  ...column,
  kind: typeKind === "e" ? "choice" : (KINDS[typeName] ?? "other"),
  // A trigger may do so, and nobody can tell what a trigger does.
  movesItself: false,
});
