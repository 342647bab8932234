import type { DatabaseKind } from "../support/databases/fresh-database.ts";

/** The names of the ledger's tables without the prefix, sorted. */
export const LEDGER_TABLES = [
  "former_tokens",
  "groups",
  "identity",
  "leases",
  "migrations",
  "rejections",
  "removals",
  "requests",
  "runs",
  "scopes",
] as const;

/** A prefix other than the usual one; on PostgreSQL in a schema of its own. */
export const LEDGER_ELSEWHERE: Readonly<Record<DatabaseKind, string>> = {
  postgres: "ops.groupsync_",
  mysql: "ops_groupsync_",
};
