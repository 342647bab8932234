import { readColumns } from "../../sql/source/columns.ts";
import type { SourceRequest } from "../../sql/source/source-request.ts";
import { failures } from "../connection/failures.ts";
import { identifiers } from "../connection/identifiers.ts";
import { withValues } from "../connection/statement.ts";
import type { MysqlSourceSession } from "./source-session.ts";

/** See `readColumns`. */
export const columnsOf = async (
  session: Pick<MysqlSourceSession, "query" | "fields">,
  request: SourceRequest,
) => readColumns(session, { failures, ...identifiers }, request, await namesOf(session, request));

/** The names of the table's columns that the user may see. Undefined for a query. */
async function namesOf(
  session: Pick<MysqlSourceSession, "query">,
  { place }: Pick<SourceRequest, "place">,
): Promise<readonly string[] | undefined> {
  if (!place) return undefined;
  const names = await session.query<{ name: string }>(
    withValues(
      `SELECT COLUMN_NAME AS name FROM information_schema.COLUMNS
       WHERE TABLE_SCHEMA = $1 AND TABLE_NAME = $2 ORDER BY ORDINAL_POSITION`,
      [place.schema, place.table],
    ),
  );
  return names.map(({ name }) => name);
}
