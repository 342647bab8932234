import type { ForeignTable, TableOwners } from "../../sql/dialect/table-owner.ts";

/**
 * A query for the roles whose tables count as this user's: itself, and the groups that a superuser has put it into and whose
 * rights it inherits. A membership proves nothing if anybody else has granted it: up to PostgreSQL 14 a role makes
 * any other one its member by itself, and whoever may create roles puts anybody into those that he creates. Nor do the
 * memberships of a superuser prove anything, which belongs to every role. Names the schema of each operator, because the
 * search_path may be the role's.
 */
export const OUR_ROLES = `
  WITH RECURSIVE ours AS (
    SELECT me.oid, NOT me.rolsuper AS counts_groups
    FROM pg_catalog.pg_roles AS me WHERE me.rolname OPERATOR(pg_catalog.=) current_user
    UNION
    SELECT team.oid, TRUE
    FROM ours
    JOIN pg_catalog.pg_auth_members AS m ON m.member OPERATOR(pg_catalog.=) ours.oid
    JOIN pg_catalog.pg_roles AS grantor ON grantor.oid OPERATOR(pg_catalog.=) m.grantor
    JOIN pg_catalog.pg_roles AS team ON team.oid OPERATOR(pg_catalog.=) m.roleid
    WHERE ours.counts_groups AND grantor.rolsuper AND NOT team.rolcanlogin
      AND pg_catalog.pg_has_role(team.oid, 'USAGE'))
  SELECT ours.oid FROM ours`;

export const foreignTables: TableOwners["foreignTables"] = (database, { schema, tables, trusted }) =>
  database.query<ForeignTable>(
    `SELECT c.relname::pg_catalog.text AS "table", theirs.rolname::pg_catalog.text AS owner,
       current_user::pg_catalog.text AS "user"
     FROM pg_catalog.pg_class AS c
     JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
     JOIN pg_catalog.pg_roles AS theirs ON theirs.oid OPERATOR(pg_catalog.=) c.relowner
     WHERE n.nspname::pg_catalog.text OPERATOR(pg_catalog.=) $1
       AND c.relname::pg_catalog.text OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.text[])
       AND NOT (theirs.rolname::pg_catalog.text OPERATOR(pg_catalog.=) ANY ($3::pg_catalog.text[]))
       AND NOT (c.relowner OPERATOR(pg_catalog.=) ANY (${OUR_ROLES}))
     ORDER BY 1`,
    [schema, tables, trusted],
  );
