import type { SourceRole } from "../../../ports/tenant-source.ts";
import type { SensitiveTable } from "../../sql/source/sensitive-tables.ts";
import type { SourceOptions } from "../../sql/source/source-request.ts";
import { isAnswer } from "../connection/failures.ts";
import { identifiers } from "../connection/identifiers.ts";
import type { MysqlSourceSession } from "./source-session.ts";

/** What the user of this session can do beside reading the tenants. No open schemas: MySQL has no search path. */
export async function sourceRole(
  session: MysqlSourceSession,
  { sensitiveTables = async () => [] }: SourceOptions,
): Promise<SourceRole> {
  const [row] = await session.query<{ name: string }>("SELECT current_user() AS name");
  const secrets = new Set<string>();
  for (const table of await sensitiveTables()) {
    if (await mayRead(session, table)) secrets.add(`${table.schema}.${table.table}`);
  }
  return { name: row?.name ?? "", secrets: [...secrets].toSorted(), openSchemas: [] };
}

/** Asks the server by preparing a query, because rights may come from several levels and from roles. Reads no row. */
async function mayRead(
  session: MysqlSourceSession,
  { schema, table, column }: SensitiveTable,
): Promise<boolean> {
  const what = column === undefined ? "1" : identifiers.quoteName(column);
  try {
    await session.prepare(
      `SELECT ${what} FROM ${identifiers.quoteName(schema)}.${identifiers.quoteName(table)}`,
    );
    return true;
  } catch (error) {
    if (isAnswer(error)) return false;
    throw error;
  }
}
