import { expect, onTestFinished, test } from "vitest";
import { sqlLedger } from "../../../../src/adapters/sql/ledger/ledger.ts";
import { SqlTokenTable } from "../../../../src/adapters/sql/tokens/token-table.ts";
import { type DatabaseKind, SERVERS } from "../../../support/databases/fresh-database.ts";
import { startMariadb } from "../../../support/mysql/embedded-mariadb.ts";
import { startPostgres } from "../../../support/postgres/embedded-postgres.ts";
import { startStandby } from "../../../support/postgres/standby.ts";
import { OWN } from "../tokens/token-place.ts";
import { aDatabase, HISTORY_MS, LOCATION } from "./ledger-database.ts";

/** The url of a server that takes no writes. */
const READ_ONLY: Readonly<Record<DatabaseKind, () => Promise<string>>> = {
  postgres: async () => {
    const primary = await startPostgres();
    onTestFinished(primary.stop);
    const standby = await startStandby(primary, "replica");
    onTestFinished(standby.stop);
    return standby.url;
  },
  mysql: async () => {
    const server = await startMariadb({ settings: { read_only: "1" } });
    onTestFinished(server.stop);
    const { query, end } = SERVERS.mysql.connect(server.url);
    onTestFinished(end);
    await query("CREATE DATABASE replica; CREATE USER us IDENTIFIED BY 'x'; GRANT ALL ON replica.* TO us");
    return Object.assign(new URL(server.url), { username: "us", password: "x", pathname: "/replica" }).href;
  },
};

test.each(["postgres", "mysql"] as const)("a check tells that a server takes no writes: %s", async (kind) => {
  const url = await READ_ONLY[kind]().catch((error: unknown) => {
    if (process.env.CI === "true") throw error;
    console.error(`skipped: there is no ${kind} server that takes no writes: ${error}`);
  });
  if (url === undefined) return;
  const database = aDatabase(url, kind);
  const ledger = sqlLedger(database, LOCATION, "default", HISTORY_MS);
  const hint = expect.stringMatching(/replica|standby/);
  await expect(ledger.inspect()).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE", hint });
  await expect(new SqlTokenTable(database, OWN).inspect()).rejects.toMatchObject({
    code: "TOKEN_STORE_UNAVAILABLE",
    hint,
  });
});
