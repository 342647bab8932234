import { SyncError } from "../../../core/failure/sync-error.ts";
import { readColumns } from "../../sql/source/columns.ts";
import type { SourceRequest } from "../../sql/source/source-request.ts";
import { failures } from "../connection/failures.ts";
import { quoteName } from "../connection/identifiers.ts";
import type { PostgresSourceSession } from "./source-session.ts";

/**
 * See `readColumns`. Throws SOURCE_UNAVAILABLE, with the missing right, if the user may read only some of the columns:
 * PostgreSQL's own error doesn't say which.
 */
export async function columnsOf(
  session: Pick<PostgresSourceSession, "query" | "fields">,
  request: SourceRequest,
) {
  const there = await catalogColumns(session, request);
  const asked = there?.filter(({ name }) => request.columns.includes(name)) ?? [];
  const denied = asked.filter(({ isReadable }) => !isReadable);
  if (denied.length > 0 && denied.length < asked.length) {
    throw new SyncError(
      "SOURCE_UNAVAILABLE",
      `cannot read ${request.name}: permission denied for column ${denied.map(({ name }) => name).join(", ")}`,
      {
        hint: `GRANT SELECT (${denied.map(({ name }) => quoteName(name)).join(", ")}) ON ${request.relation} TO ${quoteName(denied[0]?.user ?? "")}`,
      },
    );
  }
  return readColumns(
    session,
    { failures, quoteName },
    request,
    there?.map(({ name }) => name),
  );
}

interface CatalogColumn {
  readonly name: string;
  readonly isReadable: boolean;
  readonly user: string;
}

/** The table's columns. Undefined for a query. */
async function catalogColumns(
  session: Pick<PostgresSourceSession, "query">,
  { place, relation }: Pick<SourceRequest, "place" | "relation">,
): Promise<readonly CatalogColumn[] | undefined> {
  if (!place) return undefined;
  return session.query<CatalogColumn>(
    `SELECT a.attname::pg_catalog.text AS name, current_user::pg_catalog.text AS "user",
       pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT') AS "isReadable"
     FROM pg_catalog.pg_attribute AS a
     WHERE a.attrelid OPERATOR(pg_catalog.=) pg_catalog.to_regclass($1)::pg_catalog.oid
       AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
     ORDER BY a.attnum`,
    [relation],
  );
}
