import { describe, SyncError } from "../../../core/failure/sync-error.ts";
import type { TenantSource } from "../../../ports/tenant-source.ts";
import type { SourceDialect, SourceOptions } from "../../sql/source/source-dialect.ts";
import { SqlTenantSource } from "../../sql/source/tenant-source.ts";
import { failures } from "../connection/failures.ts";
import { quoteName, quoteTable } from "../connection/identifiers.ts";
import { tablePlace } from "../connection/table-place.ts";
import { isIndexed } from "./index-use.ts";
import { sourceRole } from "./source-role.ts";
import { PostgresSourceSession } from "./source-session.ts";
import { tenantQuery } from "./tenant-query.ts";

export const POSTGRES: SourceDialect<PostgresSourceSession> = {
  identifiers: { quoteName, quoteTable },
  failures,
  grantee: quoteName,
  open: PostgresSourceSession.open,
  async findTable(session, name, { name: written, grantee }) {
    try {
      return await tablePlace(session, name);
    } catch (error) {
      // Looking a name up runs nobody's code: only the schema in the config can lack a right.
      if (name.schema === undefined || !failures.mayNotRead(error)) throw error;
      throw new SyncError("SOURCE_UNAVAILABLE", `cannot read ${written}: ${describe(error)}`, {
        hint: `GRANT USAGE ON SCHEMA ${quoteName(name.schema)} TO ${grantee}`,
        cause: error,
      });
    }
  },
  tenantQuery,
  isIndexed,
  role: sourceRole,
};

export const postgresTenantSource = (options: SourceOptions): TenantSource =>
  new SqlTenantSource(POSTGRES, options);
