import { hash } from "node:crypto";
import { databaseHost } from "../core/tls/database-tls.ts";
import type { DatabaseUrl } from "./urls.ts";

const DEFAULT_PORTS: Readonly<Record<DatabaseUrl["dialect"], string>> = { postgres: "5432", mysql: "3306" };

/**
 * Host, port and database, such as `db.example.com:5432/app`. The same for every spelling of a url, and without its
 * secrets.
 */
export function describeDatabase({ dialect, url }: DatabaseUrl): string {
  const { port, pathname, searchParams } = new URL(url.reveal());
  const host = databaseHost(dialect, url.reveal());
  // PostgreSQL's driver prefers the parameter `port` to the port behind the host.
  const preferred = dialect === "postgres" ? searchParams.get("port") : null;
  const shownPort = preferred || port || DEFAULT_PORTS[dialect];
  const shownHost = host.startsWith("/") ? host.replace(/\/+$/, "") : host.toLowerCase();
  return `${shownHost}:${shownPort}${decodeURIComponent(pathname) || "/"}`;
}

/** The name of a table, without quotes that it does not need. */
export const describeTable = (table: string): string =>
  table.replace(/"((?:[^"]|"")+)"/g, (quoted, name: string) =>
    /^[\p{L}\p{N}_$-]+$/u.test(name) ? name : quoted,
  );

/** One of `table` and `query` is there. */
interface DescribedSource {
  readonly url: DatabaseUrl;
  readonly table?: string;
  readonly query?: string;
}

/**
 * Where the ids of the tenants come from, in one line: `db.example.com:5432/app public.customers by id`. The text is
 * the same for every spelling of a source. It goes into the ledger and into messages, so it holds only host, port and
 * database of the url. It leaves out `where`, because another condition still selects ids of the same tenants.
 */
export const describeSource = ({ url, table, query }: DescribedSource, idColumn: string): string =>
  `${describeDatabase(url)} ${table === undefined ? describeQuery(query ?? "") : describeTable(table)} by ${idColumn}`;

function describeQuery(query: string): string {
  const digest = hash("sha256", query.replace(/\s+/g, " ").trim());
  return `query ${digest.slice(0, 12)}`;
}
