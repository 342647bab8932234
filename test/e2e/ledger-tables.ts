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
