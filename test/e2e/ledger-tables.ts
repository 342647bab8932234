import type { DatabaseKind } from "../support/fresh-database.ts";

/** What comes after the prefix, in the order of the names. */
export const LEDGER_TABLES = [
  "evidence",
  "former_tokens",
  "groups",
  "identity",
  "leases",
  "migrations",
  "removals",
  "runs",
  "services",
  "token_places",
] as const;

/** Another prefix than the usual one, and in a schema of its own where there are schemas: MySQL has none. */
export const LEDGER_ELSEWHERE: Readonly<Record<DatabaseKind, string>> = {
  postgres: "ops.groupsync_",
  mysql: "ops_groupsync_",
};
