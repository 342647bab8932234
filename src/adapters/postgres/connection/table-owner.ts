import type { ForeignTable, TableOwners } from "../../sql/dialect/table-owner.ts";

/**
 * Asks pg_has_role for USAGE and not for MEMBER: a member that doesn't inherit the role's rights doesn't count as an
 * owner. Avoids IS DISTINCT FROM, which would look its operator up in the search_path.
 */
export const foreignTables: TableOwners["foreignTables"] = (database, { schema, tables, trusted }) =>
  database.query<ForeignTable>(
    `SELECT c.relname::pg_catalog.text AS "table", theirs.rolname::pg_catalog.text AS owner,
       mine.rolname::pg_catalog.text AS "user"
     FROM pg_catalog.pg_class AS c
     JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
     JOIN pg_catalog.pg_roles AS theirs ON theirs.oid OPERATOR(pg_catalog.=) c.relowner
     JOIN pg_catalog.pg_roles AS mine ON mine.rolname OPERATOR(pg_catalog.=) current_user
     WHERE n.nspname::pg_catalog.text OPERATOR(pg_catalog.=) $1
       AND c.relname::pg_catalog.text OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.text[])
       AND mine.oid OPERATOR(pg_catalog.<>) c.relowner
       AND NOT (theirs.rolname::pg_catalog.text OPERATOR(pg_catalog.=) ANY ($3::pg_catalog.text[]))
       AND NOT (NOT mine.rolsuper AND NOT theirs.rolcanlogin
         AND pg_catalog.pg_has_role(c.relowner, 'USAGE'))
     ORDER BY 1`,
    [schema, tables, trusted],
  );
