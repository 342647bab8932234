import { SyncError } from "../../../core/failure/sync-error.ts";
import type { Connections } from "../../sql/connection/connections.ts";
import { quoteName } from "./identifiers.ts";

/** What the right to create tables is needed for, and the error code if the right is missing. */
interface Purpose {
  readonly code: "LEDGER_UNAVAILABLE" | "TOKEN_STORE_UNAVAILABLE";
  /** In words: `the ledger's tables`. */
  readonly what: string;
}

/**
 * Rejects unless this user may create tables in the schema; if it is left out, in the user's default schema.
 * `current_schema()` skips schemas that the user may not use.
 */
export async function insistOnSchema(
  { byRolesPath }: Connections,
  schema: string | undefined,
  { code, what }: Purpose,
  { mayBeCreated }: { readonly mayBeCreated: boolean },
): Promise<void> {
  const [row] = await byRolesPath.query<SchemaRow>(
    `SELECT current_user AS "user", wanted.name, n.oid IS NOT NULL AS "isThere",
       coalesce(pg_catalog.has_schema_privilege(n.oid, 'USAGE')
         AND pg_catalog.has_schema_privilege(n.oid, 'CREATE'), FALSE) AS "isAllowed",
       pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE') AS "mayCreateSchemas"
     FROM (SELECT coalesce($1, pg_catalog.current_schema()::pg_catalog.text, 'public') AS name) AS wanted
     LEFT JOIN pg_catalog.pg_namespace AS n
       ON n.nspname::pg_catalog.text OPERATOR(pg_catalog.=) wanted.name`,
    [schema ?? null],
  );
  if (!row || row.isAllowed) return;
  const user = quoteName(row.user);
  const name = quoteName(row.name);
  if (row.isThere) {
    throw new SyncError(
      code,
      `cannot create ${what}: user ${row.user} may not create tables in schema ${row.name}`,
      {
        hint: `GRANT USAGE, CREATE ON SCHEMA ${name} TO ${user}`,
      },
    );
  }
  if (mayBeCreated && row.mayCreateSchemas) return;
  throw new SyncError(code, `cannot create ${what}: there is no schema ${row.name}`, {
    hint: `check the name in the config; if it is right: CREATE SCHEMA ${name} AUTHORIZATION ${user}`,
  });
}

interface SchemaRow {
  readonly user: string;
  readonly name: string;
  readonly isThere: boolean;
  readonly isAllowed: boolean;
  readonly mayCreateSchemas: boolean;
}
