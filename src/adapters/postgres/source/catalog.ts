import type { CatalogSql } from "../../sql/source/catalog.ts";
import { typeName } from "../connection/id-types.ts";
import { OUR_ROLES } from "../connection/table-owner.ts";

/**
 * Asks the catalog alone: to plan a query on a table may run functions of its owner. An index with a condition, on an
 * expression or still invalid says nothing about all rows. A foreign key between partitions counts for the table that they
 * belong to. A domain counts as the type below it.
 */
export const catalogSql: CatalogSql = {
  dialect: "postgres",
  database: "pg_catalog.current_database()::pg_catalog.text",
  columns: `
    WITH keys AS (
      SELECT i.indrelid, i.indkey[0] AS attnum,
        bool_or(i.indisprimary AND i.indnkeyatts = 1) AS is_primary,
        bool_or(i.indisunique AND i.indnkeyatts = 1) AS is_unique
      FROM pg_catalog.pg_index AS i
      WHERE i.indisvalid AND i.indpred IS NULL AND i.indkey[0] <> 0
      GROUP BY 1, 2),
    links AS (
      SELECT c.conrelid, c.conkey[1] AS attnum,
        n.nspname::text AS "toSchema", other.relname::text AS "toTable", a.attname::text AS "toColumn"
      FROM pg_catalog.pg_constraint AS c
        JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.confrelid AND a.attnum = c.confkey[1]
        JOIN pg_catalog.pg_class AS other ON other.oid = c.confrelid
        JOIN pg_catalog.pg_namespace AS n ON n.oid = other.relnamespace
      WHERE c.contype = 'f' AND cardinality(c.conkey) = 1 AND c.conparentid = 0),
    ours AS (${OUR_ROLES})
    SELECT n.nspname::text AS "schema", c.relname::text AS "table", c.relkind NOT IN ('r', 'p') AS "isView",
      pg_get_userbyid(c.relowner)::text AS "owner", c.relowner IN (SELECT ours.oid FROM ours) AS "isOurs",
      has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT') AS "isReadable",
      a.attname::text AS "column",
      CASE WHEN t.typtype = 'e' THEN 'enum' ELSE ${typeName("t")} END AS "typeName",
      NOT a.attnotnull AS "isNullable",
      CASE WHEN k.is_primary THEN 'primary' WHEN k.is_unique THEN 'unique' END AS "key",
      k.attnum IS NOT NULL AS "isIndexed",
      l."toSchema", l."toTable", l."toColumn"
    FROM pg_catalog.pg_class AS c
      JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
      JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      JOIN pg_catalog.pg_type AS declared ON declared.oid = a.atttypid
      JOIN pg_catalog.pg_type AS t ON t.oid = COALESCE(NULLIF(declared.typbasetype, 0), declared.oid)
      LEFT JOIN keys AS k ON k.indrelid = c.oid AND k.attnum = a.attnum
      LEFT JOIN links AS l ON l.conrelid = c.oid AND l.attnum = a.attnum
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND c.relpersistence <> 't'
      AND n.nspname !~ '^(pg_|information_schema$|groupsync(_tokens)?$)' AND c.relname !~ '^groupsync_'
      AND NOT EXISTS (
        SELECT FROM pg_catalog.pg_depend AS d
        WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
    ORDER BY 1, 2, a.attnum`,
};
