import type { SourceRole } from "../../../ports/tenant-source.ts";
import { quotePlace } from "../../sql/connection/table-place.ts";
import type { SensitiveTable } from "../../sql/source/sensitive-tables.ts";
import type { SourceDialect, SourceOptions } from "../../sql/source/source-dialect.ts";
import { failures, isAnswer } from "../connection/failures.ts";
import { identifiers } from "../connection/identifiers.ts";
import { withValues } from "../connection/statement.ts";
import { changeQuery, isChangeIndexed } from "./change-feed.ts";
import { isIndexed } from "./index-use.ts";
import { MysqlSourceSession } from "./source-session.ts";
import { tenantQuery } from "./tenant-query.ts";

export const MYSQL: SourceDialect<MysqlSourceSession> = {
  identifiers,
  failures,
  // The name in the url has no host, and a GRANT needs the host for which the user was created.
  grantee: (user) => `${identifiers.quoteName(user)}@\`%\`, or whichever host the user was created for`,
  open: MysqlSourceSession.open,
  async findTable(session, { schema: named, table }) {
    const [current] = await session.query<{ name: string | null }>("SELECT database() AS name");
    // Null if the url names no database.
    const schema = named ?? current?.name;
    return schema == null ? undefined : { schema, table, owner: null, isOurs: false };
  },
  async catalogColumns(session, { schema, table }) {
    const columns = await session.query<{ name: string; rights: string }>(
      withValues(
        `SELECT COLUMN_NAME AS name, PRIVILEGES AS rights FROM information_schema.COLUMNS
         WHERE TABLE_SCHEMA = $1 AND TABLE_NAME = $2 ORDER BY ORDINAL_POSITION`,
        [schema, table],
      ),
    );
    return columns.map(({ name, rights }) => ({ name, isReadable: /\bselect\b/i.test(rights) }));
  },
  tenantQuery,
  isIndexed,
  role: sourceRole,
  changeQuery,
  isChangeIndexed,
};

/** What the user of this session can do beside reading the tenants. No open schemas: MySQL has no search path. */
async function sourceRole(
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

/** Asks the server by a query, because rights may come from several levels and from roles. Reads no row. */
async function mayRead(
  session: MysqlSourceSession,
  { schema, table, column }: SensitiveTable,
): Promise<boolean> {
  const what = column === undefined ? "1" : identifiers.quoteName(column);
  try {
    await session.query(`SELECT ${what} FROM ${quotePlace(identifiers, { schema, table })} LIMIT 0`);
    return true;
  } catch (error) {
    if (isAnswer(error)) return false;
    throw error;
  }
}
