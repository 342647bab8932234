import type { Names } from "./names.ts";

export interface LedgerLocation {
  /** On PostgreSQL alone; the user's default schema where left out. */
  readonly schema?: string | undefined;
  readonly tablePrefix: string;
}

/** The ledger's tables, quoted. */
export interface LedgerTables {
  readonly migrations: string;
  readonly groups: string;
  readonly services: string;
  readonly leases: string;
  readonly runs: string;
  readonly evidence: string;
  readonly removals: string;
  readonly formerTokens: string;
  readonly tokenPlaces: string;
  readonly identity: string;
}

export function ledgerTables(
  { quoteName }: Pick<Names, "quoteName">,
  { schema, tablePrefix }: LedgerLocation,
): LedgerTables {
  const table = (name: string): string =>
    `${schema === undefined ? "" : `${quoteName(schema)}.`}${quoteName(tablePrefix + name)}`;
  return {
    migrations: table("migrations"),
    groups: table("groups"),
    services: table("services"),
    leases: table("leases"),
    runs: table("runs"),
    evidence: table("evidence"),
    removals: table("removals"),
    formerTokens: table("former_tokens"),
    tokenPlaces: table("token_places"),
    identity: table("identity"),
  };
}
