import type { TenantSource } from "../../../ports/tenant-source.ts";
import type { SourceDialect } from "../../sql/source/open-reader.ts";
import type { SourceOptions } from "../../sql/source/source-request.ts";
import { SqlTenantSource } from "../../sql/source/tenant-source.ts";
import { failures } from "../connection/failures.ts";
import { quoteName, quoteTable } from "../connection/identifiers.ts";
import { tablePlace } from "../connection/table-place.ts";
import { missingRight } from "./grants.ts";
import { isIndexed } from "./index-use.ts";
import { sourceRole } from "./source-role.ts";
import { PostgresSourceSession } from "./source-session.ts";
import { tenantQuery } from "./tenant-query.ts";

export const POSTGRES: SourceDialect<PostgresSourceSession> = {
  identifiers: { quoteName, quoteTable },
  failures: (request, { url }) => ({
    ...failures,
    hintFor: (error) => missingRight(error, request, url) ?? failures.hintFor(error),
  }),
  open: PostgresSourceSession.open,
  findTable: tablePlace,
  tenantQuery,
  isIndexed,
  role: sourceRole,
};

export const postgresTenantSource = (options: SourceOptions): TenantSource =>
  new SqlTenantSource(POSTGRES, options);
