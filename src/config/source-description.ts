import { hash } from "node:crypto";
import type { DatabaseUrl, SourceConfig } from "./config.ts";

const DEFAULT_PORTS: Readonly<Record<DatabaseUrl["dialect"], string>> = { postgres: "5432", mysql: "3306" };

/**
 * Where the ids of the tenants come from, in one line: `db.example.com:5432/app public.customers by id`.
 * Two configs that name the same place give the same text, however they spell it. It goes into the ledger and into
 * messages, so of the url only host, port and database are in it; and what selects rows within the place is not,
 * for another `where` doesn't make the ids those of somebody else.
 */
export const describeSource = ({ url, table, query }: SourceConfig, idColumn: string): string =>
  `${describeDatabase(url)} ${table === undefined ? describeQuery(query ?? "") : describeTable(table)} by ${idColumn}`;

function describeDatabase({ dialect, url }: DatabaseUrl): string {
  const { hostname, port, pathname, searchParams } = new URL(url.reveal());
  // PostgreSQL's driver prefers these two to what stands before the path: it is how a Unix socket is named.
  const preferred = (name: string): string | null => (dialect === "postgres" ? searchParams.get(name) : null);
  const host = preferred("host") || decodeURIComponent(hostname) || "localhost";
  const shownPort = preferred("port") || port || DEFAULT_PORTS[dialect];
  const shownHost = host.startsWith("/") ? host.replace(/\/+$/, "") : host.toLowerCase();
  return `${shownHost}:${shownPort}${decodeURIComponent(pathname) || "/"}`;
}

/** Names need their quotes only where they could be read in another way without. */
const describeTable = (table: string): string =>
  table.replace(/"((?:[^"]|"")+)"/g, (quoted, name: string) =>
    /^[\p{L}\p{N}_$-]+$/u.test(name) ? name : quoted,
  );

function describeQuery(query: string): string {
  const digest = hash("sha256", query.replace(/\s+/g, " ").trim());
  return `query ${digest.slice(0, 12)}`;
}
