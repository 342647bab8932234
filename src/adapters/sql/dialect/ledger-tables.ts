import type { Identifiers } from "../connection/identifiers.ts";

/** The version of the tables that the ledger's statements are written for. Builds from before the first release had smaller ones. */
export const LEDGER_VERSION = 100;

export interface LedgerLocation {
  /** Only on PostgreSQL; left out: the user's default schema. */
  readonly schema?: string | undefined;
  readonly tablePrefix: string;
  /** Roles that may own the tables, beside the user and its groups; left out: none. */
  readonly owners?: readonly string[];
}

/** Names of the tables without the prefix. */
const NAMES = {
  migrations: "migrations",
  groups: "groups",
  scopes: "scopes",
  leases: "leases",
  runs: "runs",
  removals: "removals",
  formerTokens: "former_tokens",
  identity: "identity",
  requests: "requests",
  rejections: "rejections",
} as const;

/** The ledger's tables, quoted. */
export type LedgerTables = Readonly<Record<keyof typeof NAMES, string>>;

/** The names of the tables, unquoted and without the schema, and who may own the tables. */
export const ownedTables = ({ tablePrefix, owners = [] }: LedgerLocation) => ({
  tables: Object.values(NAMES).map((name) => tablePrefix + name),
  trusted: owners,
});

export function ledgerTables(
  { quoteName }: Pick<Identifiers, "quoteName">,
  { schema, tablePrefix }: LedgerLocation,
): LedgerTables {
  const inSchema = schema === undefined ? "" : `${quoteName(schema)}.`;
  const quoted = Object.entries(NAMES).map(([key, name]) => [key, inSchema + quoteName(tablePrefix + name)]);
  return Object.fromEntries(quoted) as LedgerTables;
}
