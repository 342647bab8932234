import type { FieldPacket } from "mysql2/promise";
import { type CatalogColumn, type ReadColumns, readColumns } from "../../sql/source/columns.ts";
import type { SourceRequest } from "../../sql/source/source-dialect.ts";
import { failures } from "../connection/failures.ts";
import { identifiers } from "../connection/identifiers.ts";
import { withValues } from "../connection/statement.ts";
import type { MysqlSourceSession } from "./source-session.ts";

/** The request's columns, as the server describes them. Throws what `readColumns` throws. */
export async function describeColumns(
  session: Pick<MysqlSourceSession, "query" | "fields">,
  request: SourceRequest,
): Promise<ReadColumns<FieldPacket>> {
  const catalog = await catalogColumns(session, request);
  return readColumns(session, { failures, ...identifiers }, request, catalog);
}

/** The columns of the table that the user has any right to. Undefined for a query. */
async function catalogColumns(
  session: Pick<MysqlSourceSession, "query">,
  { place }: Pick<SourceRequest, "place">,
): Promise<readonly CatalogColumn[] | undefined> {
  if (!place) return undefined;
  const columns = await session.query<{ name: string; rights: string }>(
    withValues(
      `SELECT COLUMN_NAME AS name, PRIVILEGES AS rights FROM information_schema.COLUMNS
       WHERE TABLE_SCHEMA = $1 AND TABLE_NAME = $2 ORDER BY ORDINAL_POSITION`,
      [place.schema, place.table],
    ),
  );
  return columns.map(({ name, rights }) => ({ name, isReadable: /\bselect\b/i.test(rights) }));
}
