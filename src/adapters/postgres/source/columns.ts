import type { FieldDef } from "pg";
import { type CatalogColumn, type ReadColumns, readColumns } from "../../sql/source/columns.ts";
import type { SourceRequest } from "../../sql/source/source-dialect.ts";
import { failures } from "../connection/failures.ts";
import { quoteName } from "../connection/identifiers.ts";
import type { PostgresSourceSession } from "./source-session.ts";

/** The request's columns, as the server describes them. Throws what `readColumns` throws. */
export async function describeColumns(
  session: Pick<PostgresSourceSession, "query" | "fields">,
  request: SourceRequest,
): Promise<ReadColumns<FieldDef>> {
  const catalog = await catalogColumns(session, request);
  return readColumns(session, { failures, quoteName }, request, catalog);
}

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
