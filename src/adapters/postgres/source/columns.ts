import { type CatalogColumn, readColumns } from "../../sql/source/columns.ts";
import type { SourceRequest } from "../../sql/source/source-request.ts";
import { failures } from "../connection/failures.ts";
import { quoteName } from "../connection/identifiers.ts";
import type { PostgresSourceSession } from "./source-session.ts";

/** See `readColumns`. */
export const columnsOf = async (
  session: Pick<PostgresSourceSession, "query" | "fields">,
  request: SourceRequest,
) => readColumns(session, { failures, quoteName }, request, await catalogColumns(session, request));

/** The table's columns. Undefined for a query. */
async function catalogColumns(
  session: Pick<PostgresSourceSession, "query">,
  { place, relation }: Pick<SourceRequest, "place" | "relation">,
): Promise<readonly CatalogColumn[] | undefined> {
  if (!place) return undefined;
  return session.query<CatalogColumn>(
    `SELECT a.attname::pg_catalog.text AS name,
       pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT') AS "isReadable"
     FROM pg_catalog.pg_attribute AS a
     WHERE a.attrelid OPERATOR(pg_catalog.=) pg_catalog.to_regclass($1)::pg_catalog.oid
       AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
     ORDER BY a.attnum`,
    [relation],
  );
}
