import { describe, SyncError } from "../../../core/failure/sync-error.ts";
import type { SourceRole } from "../../../ports/tenant-source.ts";
import { quotePlace } from "../../sql/connection/table-place.ts";
import type { SensitiveTable } from "../../sql/source/sensitive-tables.ts";
import type { SourceDialect, SourceOptions } from "../../sql/source/source-dialect.ts";
import { failures } from "../connection/failures.ts";
import { quoteName, quoteTable } from "../connection/identifiers.ts";
import { tablePlace } from "../connection/table-place.ts";
import { changeQuery, isChangeIndexed } from "./change-feed.ts";
import { isIndexed } from "./index-use.ts";
import { PostgresSourceSession } from "./source-session.ts";
import { tenantQuery } from "./tenant-query.ts";

export const POSTGRES: SourceDialect<PostgresSourceSession> = {
  identifiers: { quoteName, quoteTable },
  failures,
  grantee: quoteName,
  open: PostgresSourceSession.open,
  async findTable(session, name, { name: written, grantee }) {
    try {
      return await tablePlace(session, name);
    } catch (error) {
      // Looking a name up runs nobody's code: only the schema in the config can lack a right.
      if (name.schema === undefined || !failures.mayNotRead(error)) throw error;
      throw new SyncError("SOURCE_UNAVAILABLE", `cannot read ${written}: ${describe(error)}`, {
        hint: `GRANT USAGE ON SCHEMA ${quoteName(name.schema)} TO ${grantee}`,
        cause: error,
      });
    }
  },
  catalogColumns: (session, place) =>
    session.query(
      `SELECT a.attname::pg_catalog.text AS name,
         pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT') AS "isReadable"
       FROM pg_catalog.pg_attribute AS a
       WHERE a.attrelid OPERATOR(pg_catalog.=) pg_catalog.to_regclass($1)::pg_catalog.oid
         AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
       ORDER BY a.attnum`,
      [quotePlace({ quoteName }, place)],
    ),
  tenantQuery,
  isIndexed,
  role: sourceRole,
  changeQuery,
  isChangeIndexed,
};

/** What the user of this session can do beside reading the tenants. */
async function sourceRole(
  session: PostgresSourceSession,
  { query, where, removedWhen, readyWhen, sensitiveTables = async () => [] }: SourceOptions,
): Promise<SourceRole> {
  const rows = await session.query<{ name: string }>("SELECT current_user::pg_catalog.text AS name");
  const usesPath = [query, where, removedWhen, readyWhen].some((sql) => sql !== undefined);
  return {
    name: rows[0]?.name ?? "",
    secrets: await readable(session, await sensitiveTables()),
    openSchemas: usesPath ? await openSchemas(session) : [],
  };
}

/** The tables that this user can read, also by taking the role of a table's owner. */
async function readable(
  session: PostgresSourceSession,
  tables: readonly SensitiveTable[],
): Promise<string[]> {
  if (tables.length === 0) return [];
  const rows = await session.query<{ name: string }>(
    `SELECT DISTINCT pg_catalog.format('%I.%I', n.nspname, c.relname) AS name
     FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.text[]), pg_catalog.unnest($2::pg_catalog.text[]),
         pg_catalog.unnest($3::pg_catalog.text[])) AS secret (schema, relation, attribute)
       JOIN pg_catalog.pg_namespace AS n
         ON n.nspname::pg_catalog.text OPERATOR(pg_catalog.=) secret.schema
       JOIN pg_catalog.pg_class AS c ON c.relnamespace OPERATOR(pg_catalog.=) n.oid
         AND c.relname::pg_catalog.text OPERATOR(pg_catalog.=) secret.relation
       LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid OPERATOR(pg_catalog.=) c.oid
         AND a.attname::pg_catalog.text OPERATOR(pg_catalog.=) secret.attribute AND NOT a.attisdropped
     WHERE (secret.attribute IS NULL OR a.attnum IS NOT NULL) AND (
       pg_catalog.pg_has_role(c.relowner, 'MEMBER')
       OR pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND CASE WHEN secret.attribute IS NULL
         THEN pg_catalog.has_any_column_privilege(c.oid, 'SELECT')
         ELSE pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT') END)`,
    [
      tables.map(({ schema }) => schema),
      tables.map(({ table }) => table),
      tables.map(({ column }) => column ?? null),
    ],
  );
  return rows.map((row) => row.name).toSorted();
}

/** The schemas of the search_path in which others may create functions. A schema's owner and superusers are trusted. */
async function openSchemas(session: PostgresSourceSession): Promise<string[]> {
  const rows = await session.query<{ name: string }>(
    `SELECT DISTINCT n.nspname::pg_catalog.text AS name
     FROM pg_catalog.unnest(pg_catalog.current_schemas(false)) AS path (name)
       JOIN pg_catalog.pg_namespace AS n ON n.nspname OPERATOR(pg_catalog.=) path.name
       CROSS JOIN LATERAL pg_catalog.aclexplode(n.nspacl) AS acl
       LEFT JOIN pg_catalog.pg_roles AS r ON r.oid OPERATOR(pg_catalog.=) acl.grantee
     WHERE acl.privilege_type OPERATOR(pg_catalog.=) 'CREATE'::pg_catalog.text
       AND acl.grantee OPERATOR(pg_catalog.<>) n.nspowner
       AND (r.oid IS NULL OR NOT r.rolsuper AND r.rolname OPERATOR(pg_catalog.<>) current_user)`,
  );
  return rows.map(({ name }) => name);
}
