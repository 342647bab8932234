import { databaseHost } from "../core/database-tls.ts";
import type { DatabaseUrl } from "./config.ts";

const DEFAULT_PORTS: Readonly<Record<DatabaseUrl["dialect"], string>> = { postgres: "5432", mysql: "3306" };

/** Host, port and database, such as `db.example.com:5432/app`: the same for every spelling, and nothing else of the url. */
export function describeDatabase({ dialect, url }: DatabaseUrl): string {
  const { port, pathname, searchParams } = new URL(url.reveal());
  const host = databaseHost(dialect, url.reveal());
  // PostgreSQL's driver prefers the parameter.
  const preferred = dialect === "postgres" ? searchParams.get("port") : null;
  const shownPort = preferred || port || DEFAULT_PORTS[dialect];
  const shownHost = host.startsWith("/") ? host.replace(/\/+$/, "") : host.toLowerCase();
  return `${shownHost}:${shownPort}${decodeURIComponent(pathname) || "/"}`;
}

/** Names need their quotes only where they could be read in another way without. */
export const describeTable = (table: string): string =>
  table.replace(/"((?:[^"]|"")+)"/g, (quoted, name: string) =>
    /^[\p{L}\p{N}_$-]+$/u.test(name) ? name : quoted,
  );
