import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, inject, onTestFinished, test } from "vitest";
import { insistOnSchema } from "../../support/config-schema.ts";
import type { FreshDatabase } from "../../support/databases/fresh-database.ts";
import { aDaemon } from "../daemon/a-daemon.ts";
import { aWorld, until, type World } from "../world.ts";

const kind = inject("databaseKind");
const isPostgres = kind === "postgres";

const TABLES = isPostgres
  ? [
      "ALTER TABLE customers ADD updated_at timestamptz NOT NULL DEFAULT now(), ADD deleted_at timestamptz",
      "CREATE TABLE subscriptions (id serial PRIMARY KEY, name text NOT NULL, customer_id varchar(100) REFERENCES customers)",
      "CREATE TABLE invoices (id serial PRIMARY KEY, customer_id varchar(100) NOT NULL REFERENCES customers, total numeric)",
    ]
  : [
      `ALTER TABLE customers ADD deleted_at DATETIME,
         ADD updated_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6)`,
      `CREATE TABLE subscriptions (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(100) NOT NULL,
         customer_id VARCHAR(100), FOREIGN KEY (customer_id) REFERENCES customers (id))`,
      `CREATE TABLE invoices (id INT AUTO_INCREMENT PRIMARY KEY, customer_id VARCHAR(100) NOT NULL,
         total DECIMAL(10,2), FOREIGN KEY (customer_id) REFERENCES customers (id))`,
    ];

test("from three tables to a daemon in sync: init, its statements, check, plan, sync, run", async () => {
  const world = await aWorld({ tenants: 0 });
  const { database, env, sandbox } = world;
  for (const statement of TABLES) await database.query(statement);
  await world.addTenants(1, 4);
  await database.query("UPDATE customers SET warehouse = NULL WHERE id = 't-00002'");
  await database.query("UPDATE customers SET deleted_at = '2026-01-01' WHERE id = 't-00004'");
  const folder = join(world.folder, "first-steps");
  await mkdir(folder);
  const [configFile, sqlFile] = [join(folder, "config.yaml"), join(folder, "groupsync.sql")];
  env.GROUPSYNC_CONFIG = configFile;
  env.GROUPSYNC_HTTP_LISTEN = "127.0.0.1:0";

  const written = await world.run(
    "init",
    "--yes",
    "--base-url",
    sandbox.baseUrl,
    "--mapping",
    "40=warehouse",
  );
  expect(written).toMatchObject({ code: 0, stderr: "" });
  expect(written.stdout).toContain("! t-00002  rejected: mapping.40 (column warehouse) is null");

  const names = someNames();
  await writeFile(configFile, names.own(await readFile(configFile, "utf8")));
  insistOnSchema(await readFile(configFile, "utf8"));
  const password = randomBytes(12).toString("hex");
  dropAtTheEnd(database, names);
  await runScript(database, names.own(await readFile(sqlFile, "utf8")));
  for (const role of [names.reader, names.writer]) {
    await database.query(
      isPostgres
        ? `ALTER ROLE ${role} PASSWORD '${password}'`
        : `ALTER USER ${role} IDENTIFIED BY '${password}' ACCOUNT UNLOCK`,
    );
  }
  const as = (username: string, path: string): string =>
    Object.assign(new URL(database.url), { username, password, pathname: path }).href;
  env.DATABASE_URL = as(names.reader, database.name);
  env.GROUPSYNC_DATABASE_URL = as(names.writer, isPostgres ? database.name : names.writer);

  const check = await world.run("check");
  expect(check).toMatchObject({ code: 0 });
  expect(check.stdout.match(/^[!✗].*$/gm)).toEqual([expect.stringContaining("1 row rejected: mapping.40")]);
  const plan = await world.plan();
  expect(plan).toMatchObject({ rejected: [{ user_group_id: "t-00002" }], warnings: [], failures: [] });
  expect(plan.create.map(({ user_group_id }: { user_group_id: string }) => user_group_id)).toEqual([
    "t-00001",
    "t-00003",
  ]);
  expect(await world.sync()).toMatchObject({ code: 3, report: { created: 2, rejected: 1 } });
  await database.query("UPDATE customers SET warehouse = 'w-2' WHERE id = 't-00002'");

  const daemon = await aDaemon(world);
  await daemon.ran(1);
  await world.addTenants(5, 5);
  await until(async () => Object.keys(await tokens(world, names)).length === 4);
  expect(await tokens(world, names)).toEqual(await world.live());
  expect(await daemon.program.stop("SIGTERM")).toMatchObject({ code: 0 });
});

interface Names {
  readonly reader: string;
  readonly writer: string;
  readonly tokens: string;
  own(text: string): string;
}

/** Roles, and on MySQL databases, belong to the whole server: other tests have some of the same names. */
function someNames(): Names {
  const end = `_${randomBytes(4).toString("hex")}`;
  return {
    reader: `groupsync_reader${end}`,
    writer: `groupsync${end}`,
    tokens: `groupsync_tokens${end}`,
    own: (text) => text.replace(/\b(groupsync|groupsync_reader|groupsync_tokens)\b/g, `$1${end}`),
  };
}

function dropAtTheEnd({ query }: FreshDatabase, { reader, writer, tokens: places }: Names): void {
  onTestFinished(async () => {
    for (const role of [reader, writer]) {
      if (isPostgres) await query(`DROP OWNED BY ${role} CASCADE`).catch(() => {});
      await query(`DROP ${isPostgres ? "ROLE" : "USER"} IF EXISTS ${role}`);
    }
    if (isPostgres) return;
    for (const name of [writer, places]) await query(`DROP DATABASE IF EXISTS ${name}`);
  });
}

/** As a client does that is given the file: what isn't in a transaction runs by itself. */
async function runScript({ query }: FreshDatabase, sql: string): Promise<void> {
  for (const part of sql.split(/(?<=^COMMIT;)$/m)) await query(part);
}

async function tokens({ database }: World, { tokens: schema }: Names): Promise<Record<string, string>> {
  const rows = await database.query<{ user_group_id: string; token: string }>(
    `SELECT user_group_id, token FROM ${schema}.tokens ORDER BY 1`,
  );
  return Object.fromEntries(rows.map(({ user_group_id, token }) => [user_group_id, token]));
}
