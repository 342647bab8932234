import { randomBytes } from "node:crypto";
import pg from "pg";
import { onTestFinished } from "vitest";
import { serverUrl } from "../../../support/databases/database-server.ts";

/** The url of an empty database whose encoding is not UTF-8, for one test. */
export async function latin1Database(): Promise<string> {
  const name = `groupsync_test_${randomBytes(6).toString("hex")}`;
  const server = new pg.Client(serverUrl("postgres"));
  await server.connect();
  onTestFinished(() => server.end());
  await server.query(`CREATE DATABASE ${name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`);
  onTestFinished(async () => {
    await server.query(`DROP DATABASE ${name} WITH (FORCE)`);
  });
  const url = new URL(serverUrl("postgres"));
  url.pathname = `/${name}`;
  return url.href;
}
