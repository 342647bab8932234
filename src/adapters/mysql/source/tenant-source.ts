import type { TenantSource } from "../../../ports/tenant-source.ts";
import type { SourceDialect } from "../../sql/source/open-reader.ts";
import type { SourceOptions } from "../../sql/source/source-request.ts";
import { SqlTenantSource } from "../../sql/source/tenant-source.ts";
import { failures } from "../connection/failures.ts";
import { identifiers } from "../connection/identifiers.ts";
import { isIndexed } from "./index-use.ts";
import { sourceRole } from "./source-role.ts";
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
  tenantQuery,
  isIndexed,
  role: sourceRole,
};

export const mysqlTenantSource = (options: SourceOptions): TenantSource =>
  new SqlTenantSource(MYSQL, options);
