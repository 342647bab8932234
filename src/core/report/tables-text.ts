import { printable } from "../text/printable.ts";

/** The tables to which the config's names lead, with their full names in the database. */
export interface ResolvedTables {
  /** Null if the tenants come from a query. */
  readonly source?: string | null;
  /** Empty if no tokens are written to tables. */
  readonly tokens: readonly string[];
  /** Null if not known yet. */
  readonly ledger: string | null;
}

/** One line for an operator; empty if no table is known. */
export function tablesText({ source = null, tokens, ledger }: ResolvedTables): string {
  const parts = [
    ...(source === null ? [] : [`tenants from ${source}`]),
    ...(tokens.length === 0 ? [] : [`tokens in ${tokens.join(" and ")}`]),
    ...(ledger === null ? [] : [`ledger in ${ledger}`]),
  ];
  return printable(parts.join(", "), 1_000);
}
