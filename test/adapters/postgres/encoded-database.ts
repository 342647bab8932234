import { randomBytes } from "node:crypto";
import pg from "pg";
import { onTestFinished } from "vitest";
import { serverUrl } from "../../support/databases/database-server.ts";

/** The url of an empty database whose encoding is not UTF-8, for one test. */
export async function encodedDatabase(encoding: "LATIN1" | "SQL_ASCII" | "WIN1252"): Promise<string> {
  const name = `groupsync_test_${randomBytes(6).toString("hex")}`;
  const server = new pg.Client(serverUrl("postgres"));
  await server.connect();
  onTestFinished(() => server.end());
  const { rows } = await server.query(
    "SELECT current_setting('server_version_num')::int >= 150000 AS chooses",
  );
  // ICU, which a server may prefer, doesn't know every encoding.
  const provider = rows[0].chooses ? "LOCALE_PROVIDER libc" : "";
  await server.query(
    `CREATE DATABASE ${name} ENCODING '${encoding}' LOCALE 'C' ${provider} TEMPLATE template0`,
  );
  onTestFinished(async () => {
    await server.query(`DROP DATABASE ${name} WITH (FORCE)`);
  });
  const url = new URL(serverUrl("postgres"));
  url.pathname = `/${name}`;
  return url.href;
}
