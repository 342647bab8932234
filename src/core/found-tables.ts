import { printable } from "./printable.ts";

/** The tables that the config's names lead to, by the names that their databases have for them. */
export interface FoundTables {
  /** Null where the tenants come from a query. */
  readonly source?: string | null;
  /** Empty where tokens go to no table. */
  readonly tokens: readonly string[];
  /** Null where nobody can say yet. */
  readonly ledger: string | null;
}

/** In words, for a line of its own; empty where nothing is known. */
export function tablesText({ source = null, tokens, ledger }: FoundTables): string {
  const parts = [
    ...(source === null ? [] : [`tenants from ${source}`]),
    ...(tokens.length === 0 ? [] : [`tokens in ${tokens.join(" and ")}`]),
    ...(ledger === null ? [] : [`ledger in ${ledger}`]),
  ];
  return printable(parts.join(", "), 1_000);
}
