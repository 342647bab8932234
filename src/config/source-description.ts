import { hash } from "node:crypto";
import type { SourceConfig } from "./config.ts";
import { describeDatabase, describeTable } from "./database-place.ts";

/**
 * Where the ids of the tenants come from, in one line: `db.example.com:5432/app public.customers by id`.
 * Two configs that name the same place give the same text, however they spell it. It goes into the ledger and into
 * messages, so of the url only host, port and database are in it; and what selects rows within the place is not,
 * for another `where` doesn't make the ids those of somebody else.
 */
export const describeSource = ({ url, table, query }: SourceConfig, idColumn: string): string =>
  `${describeDatabase(url)} ${table === undefined ? describeQuery(query ?? "") : describeTable(table)} by ${idColumn}`;

function describeQuery(query: string): string {
  const digest = hash("sha256", query.replace(/\s+/g, " ").trim());
  return `query ${digest.slice(0, 12)}`;
}
