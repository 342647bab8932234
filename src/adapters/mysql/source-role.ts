import type { RowDataPacket } from "mysql2";
import type { SourceRole } from "../../ports/tenant-source.ts";
import type { SecretTable } from "../sql/secret-tables.ts";
import type { SourceOptions } from "../sql/source-query.ts";
import { isAnswer } from "./failures.ts";
import { names } from "./names.ts";
import type { Queryable } from "./tenant-columns.ts";

/** What the user of this connection can do beside reading the tenants. Functions are found in no path here. */
export async function sourceRole(
  connection: Queryable,
  { secretTables = async () => [] }: SourceOptions,
): Promise<SourceRole> {
  const [[row]] = await connection.query<{ name: string } & RowDataPacket>("SELECT current_user() AS name");
  const secrets = new Set<string>();
  for (const table of await secretTables()) {
    if (await mayRead(connection, table)) secrets.add(`${table.schema}.${table.table}`);
  }
  return { name: row?.name ?? "", secrets: [...secrets].toSorted(), openSchemas: [] };
}

/** The server alone knows: rights are of many levels, and of roles. It is asked without a row being read. */
async function mayRead(connection: Queryable, { schema, table, column }: SecretTable): Promise<boolean> {
  const what = column === undefined ? "1" : names.quoteName(column);
  try {
    await connection.prepare(`SELECT ${what} FROM ${names.quoteName(schema)}.${names.quoteName(table)}`);
    return true;
  } catch (error) {
    if (isAnswer(error)) return false;
    throw error;
  }
}
