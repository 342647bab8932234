import type { Names } from "./names.ts";

export interface LedgerLocation {
  /** On PostgreSQL alone; the user's default schema where left out. */
  readonly schema?: string | undefined;
  readonly tablePrefix: string;
  /** Roles that may own the tables, beside the user and its groups; none where left out. */
  readonly owners?: readonly string[];
}

/** Their names, behind the prefix. */
const NAMES = {
  migrations: "migrations",
  groups: "groups",
  services: "services",
  leases: "leases",
  runs: "runs",
  evidence: "evidence",
  removals: "removals",
  formerTokens: "former_tokens",
  tokenPlaces: "token_places",
  identity: "identity",
} as const;

/** The ledger's tables, quoted. */
export type LedgerTables = Readonly<Record<keyof typeof NAMES, string>>;

/** Their names as they are, without the schema, and who may own them. */
export const ownedTables = ({ tablePrefix, owners = [] }: LedgerLocation) => ({
  tables: Object.values(NAMES).map((name) => tablePrefix + name),
  trusted: owners,
});

export function ledgerTables(
  { quoteName }: Pick<Names, "quoteName">,
  { schema, tablePrefix }: LedgerLocation,
): LedgerTables {
  const inSchema = schema === undefined ? "" : `${quoteName(schema)}.`;
  const quoted = Object.entries(NAMES).map(([key, name]) => [key, inSchema + quoteName(tablePrefix + name)]);
  return Object.fromEntries(quoted) as LedgerTables;
}
