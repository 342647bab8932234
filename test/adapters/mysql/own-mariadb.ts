import { onTestFinished } from "vitest";
import { SERVERS } from "../../support/databases/fresh-database.ts";
import { startMariadb } from "../../support/mysql/embedded-mariadb.ts";
import { mariadbPrograms } from "../../support/mysql/mariadb-binaries.ts";

/** Where there is none, the global setup says so aloud. */
export const isThere = await mariadbPrograms().then(
  () => true,
  () => false,
);

/** A server with these settings for one test. */
export async function ownMariadb(settings: Readonly<Record<string, string>> = {}) {
  const server = await startMariadb({ settings });
  onTestFinished(server.stop);
  const { query, end } = SERVERS.mysql.connect(server.url);
  onTestFinished(end);
  return { url: server.url, query };
}
