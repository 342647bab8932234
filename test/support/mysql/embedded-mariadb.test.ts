import mysql from "mysql2/promise";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { SERVER_VARIABLES } from "../databases/database-server.ts";
import { startMariadb } from "./embedded-mariadb.ts";

// Where the run was given a server, or none could be had, there need not be a MariaDB to start.
const mayBeMissing = process.env[SERVER_VARIABLES.mysql] || inject("mysqlUrl") === null;

describe.skipIf(mayBeMissing)("an embedded MariaDB", () => {
  test("is as stock servers are, but for what makes it quick", async () => {
    const quick = await startMariadb();
    onTestFinished(quick.stop);
    const durable = await startMariadb({ durable: true });
    onTestFinished(durable.stop);
    expect(await setting(quick.url, "innodb_flush_log_at_trx_commit")).toBe(0);
    expect(await setting(durable.url, "innodb_flush_log_at_trx_commit")).toBe(1);
    for (const { url } of [quick, durable]) {
      expect(await setting(url, "sql_mode")).toBe(
        "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION",
      );
    }
  });
});

const setting = (url: string, name: string): Promise<unknown> => ask(url, `SELECT @@GLOBAL.${name}`);

/** The one value of the one row. */
async function ask(url: string, sql: string): Promise<unknown> {
  const client = await mysql.createConnection({ uri: url, rowsAsArray: true });
  try {
    const [rows] = await client.query<mysql.RowDataPacket[]>(sql);
    return rows[0]?.[0];
  } finally {
    await client.end();
  }
}
