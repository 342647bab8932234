import type { CatalogSql } from "../../sql/source/catalog.ts";

/**
 * The schemas in question are that of the url, or all but the server's and groupsync's own. COLUMN_KEY doesn't tell whether a
 * column is a key alone: a user sees only the columns that it has a right to. Names are compared by their bytes, because
 * information_schema takes customers and Customers for the same.
 */
export const catalogSql: CatalogSql = {
  dialect: "mysql",
  database: "DATABASE()",
  columns: `
    SELECT TABLE_SCHEMA AS "schema", TABLE_NAME AS "table", TABLE_TYPE = 'VIEW' AS "isView", DEFINER AS "owner",
      COALESCE(TABLE_SCHEMA = DATABASE(), FALSE)
        AND (TABLE_TYPE <> 'VIEW' OR COALESCE(CAST(DEFINER AS BINARY) = CAST(CURRENT_USER() AS BINARY), FALSE)) AS "isOurs",
      FIND_IN_SET('select', c.PRIVILEGES) > 0 AS "isReadable",
      COLUMN_NAME AS "column", COLUMN_TYPE AS "typeName", IS_NULLABLE = 'YES' AS "isNullable",
      CASE WHEN isPrimary THEN 'primary' WHEN isUnique THEN 'unique' END AS "key", isUnique IS NOT NULL AS "isIndexed",
      REFERENCED_TABLE_SCHEMA AS "toSchema", REFERENCED_TABLE_NAME AS "toTable", REFERENCED_COLUMN_NAME AS "toColumn"
    FROM information_schema.TABLES AS t
      JOIN information_schema.COLUMNS AS c USING (TABLE_SCHEMA, TABLE_NAME)
      LEFT JOIN (
        SELECT CAST(TABLE_SCHEMA AS BINARY) AS TABLE_SCHEMA, CAST(TABLE_NAME AS BINARY) AS TABLE_NAME, DEFINER
        FROM information_schema.VIEWS) AS definers
        USING (TABLE_SCHEMA, TABLE_NAME)
      LEFT JOIN (
        SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, MAX(isKey AND INDEX_NAME = 'PRIMARY') AS isPrimary, MAX(isKey) AS isUnique
        FROM (
          SELECT CAST(TABLE_SCHEMA AS BINARY) AS TABLE_SCHEMA, CAST(TABLE_NAME AS BINARY) AS TABLE_NAME, INDEX_NAME,
            MAX(CASE SEQ_IN_INDEX WHEN 1 THEN CAST(COLUMN_NAME AS BINARY) END) AS COLUMN_NAME,
            MAX(NON_UNIQUE) = 0 AND COUNT(*) = 1 AS isKey
          FROM information_schema.STATISTICS GROUP BY 1, 2, 3) AS indexes
        GROUP BY TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME) AS firsts
        USING (TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME)
      LEFT JOIN (
        SELECT CAST(TABLE_SCHEMA AS BINARY) AS TABLE_SCHEMA, CAST(TABLE_NAME AS BINARY) AS TABLE_NAME,
          CAST(COLUMN_NAME AS BINARY) AS COLUMN_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME
        FROM information_schema.KEY_COLUMN_USAGE WHERE REFERENCED_TABLE_NAME IS NOT NULL) AS links
        USING (TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME)
    WHERE (TABLE_SCHEMA = DATABASE() OR DATABASE() IS NULL AND TABLE_SCHEMA NOT IN
        ('information_schema', 'mysql', 'performance_schema', 'sys', 'groupsync', 'groupsync_tokens'))
      AND CAST(t.TABLE_SCHEMA AS BINARY) = c.TABLE_SCHEMA AND CAST(t.TABLE_NAME AS BINARY) = c.TABLE_NAME
      AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED', 'VIEW') AND TABLE_NAME NOT LIKE 'groupsync|_%' ESCAPE '|'
    ORDER BY 1, 2, ORDINAL_POSITION`,
};
