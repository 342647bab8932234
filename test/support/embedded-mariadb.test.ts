import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import mysql from "mysql2/promise";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { SERVER_VARIABLES } from "./database-server.ts";
import { startMariadb } from "./embedded-mariadb.ts";

// Where the run was given a server, or none could be had, there need not be a MariaDB to start.
const mayBeMissing = process.env[SERVER_VARIABLES.mysql] || inject("mysqlUrl") === null;

describe.skipIf(mayBeMissing)("an embedded MariaDB", () => {
  test("stands beside another one, and is gone with its data once stopped", async () => {
    const servers = await Promise.all([startMariadb(), startMariadb()]);
    onTestFinished(async () => {
      await Promise.all(servers.map(({ stop }) => stop()));
    });
    const [one, other] = servers;
    const folders = [await folderOf(one.url), await folderOf(other.url)];
    expect(new Set(folders).size).toBe(2);

    await one.stop();
    await one.stop();
    expect(folders.map(existsSync)).toEqual([false, true]);
    await expect(setting(one.url, "port")).rejects.toThrow("ECONNREFUSED");
    expect(await setting(other.url, "port")).toBe(other.port);
  });

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

  test("takes any setting and any file", async () => {
    const server = await startMariadb({
      settings: { init_connect: `SET @a = 'it''s "\\\\b"', @b = 1`, init_file: "../init.sql" },
      files: { "init.sql": "CREATE DATABASE initial;\n" },
    });
    onTestFinished(server.stop);
    expect(await setting(server.url, "init_connect")).toBe(`SET @a = 'it''s "\\\\b"', @b = 1`);
    expect(await ask(server.url, "SHOW DATABASES LIKE 'init%'")).toBe("initial");
  });

  test("lets nobody in without the password", async () => {
    const server = await startMariadb();
    onTestFinished(server.stop);
    for (const user of ["root", "nobody"]) {
      await expect(setting(`mysql://${user}@127.0.0.1:${server.port}/`, "port")).rejects.toThrow(
        "Access denied",
      );
    }
  });

  test("says why it did not start", async () => {
    const start = startMariadb({ settings: { max_connections: "a lot" } });
    await expect(start).rejects.toThrow(/did not start:.*max_connections/s);
  });

  test("ends with the program that started it, even when that is killed", async () => {
    const module = new URL("embedded-mariadb.ts", import.meta.url).href;
    const program = spawn(
      process.execPath,
      [
        "--import",
        "tsx",
        "--input-type=module",
        "--eval",
        `import { startMariadb } from ${JSON.stringify(module)}; console.log((await startMariadb()).url);`,
      ],
      { cwd: fileURLToPath(new URL("../..", import.meta.url)), stdio: ["ignore", "pipe", "inherit"] },
    );
    onTestFinished(() => {
      program.kill("SIGKILL");
    });
    const [url]: string[] = await once(createInterface(program.stdout), "line");
    if (!url) throw new Error("the program printed no url");
    const folder = await folderOf(url);

    program.kill("SIGKILL");
    await expect.poll(() => existsSync(folder), { timeout: 30_000 }).toBe(false);
    await expect(setting(url, "port")).rejects.toThrow("ECONNREFUSED");
  });
});

const folderOf = async (url: string): Promise<string> => dirname(String(await setting(url, "datadir")));

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
