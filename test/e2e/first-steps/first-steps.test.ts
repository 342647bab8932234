import { readFile, writeFile } from "node:fs/promises";
import { expect, inject, test } from "vitest";
import { aDaemon } from "../daemon/a-daemon.ts";
import { aWorld, until } from "../world.ts";
import { aNewcomer } from "./newcomer.ts";

const isPostgres = inject("databaseKind") === "postgres";

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

test("from three tables to a daemon in sync, by what init writes and says alone", async () => {
  const world = await aWorld({ tenants: 0 });
  const { database, sandbox } = world;
  for (const statement of TABLES) await database.query(statement);
  await world.addTenants(1, 4);
  await database.query("UPDATE customers SET warehouse = NULL WHERE id = 't-00002'");
  await database.query("UPDATE customers SET deleted_at = '2026-01-01' WHERE id = 't-00004'");

  const newcomer = await aNewcomer(world);
  const flags = ["--base-url", sandbox.baseUrl, "--mapping", "40=warehouse", "--property", "plan"];
  const written = await newcomer.init(...flags);
  expect(written).toMatchObject({ code: 0, stderr: "" });
  const { password } = new URL(database.url);
  for (const file of [newcomer.configFile, newcomer.sqlFile])
    expect(await readFile(file, "utf8")).not.toContain(password);
  await newcomer.followSteps();

  const check = await world.run("check");
  expect(check).toMatchObject({ code: 0 });
  expect(check.stdout.match(/^[!✗].*$/gm)).toEqual([
    expect.stringContaining("1 row rejected (VALUE_NULL): mapping.40"),
  ]);
  expect(await world.run("probe", "--yes")).toMatchObject({ code: 0 });
  const plan = await world.plan();
  expect(plan).toMatchObject({ rejected: [{ user_group_id: "t-00002" }], warnings: [], failures: [] });
  expect(plan.create).toMatchObject([{ user_group_id: "t-00001" }, { user_group_id: "t-00003" }]);
  expect(await world.sync()).toMatchObject({ code: 3, report: { created: 2, rejected: 1 } });
  expect(await world.run("sync", "--allow-partial")).toMatchObject({ code: 0 });
  expect((await world.plan()).warnings).toEqual([]);
  expect(await newcomer.hasOwnersMark()).toBe(true);
  await database.query("UPDATE customers SET warehouse = 'w-2' WHERE id = 't-00002'");

  const daemon = await aDaemon(world);
  await daemon.ran(1);
  await world.addTenants(5, 5);
  await until(async () => Object.keys(await newcomer.tokens()).length === 4);
  expect(await newcomer.tokens()).toEqual(await world.live());
  expect((await world.groups()).map(({ properties }) => properties)).toEqual(Array(4).fill({ plan: "gold" }));
  expect(await daemon.program.stop("SIGTERM")).toMatchObject({ code: 0 });
});

test("the query and the condition that init writes as comments can be taken, with their rights", async () => {
  const world = await aWorld({ tenants: 0 });
  const { query } = world.database;
  await query("ALTER TABLE customers DROP COLUMN warehouse, ADD COLUMN status varchar(9) DEFAULT 'active'");
  await query(TABLES[0] ?? "");
  await query(`CREATE TABLE workspaces (customer_id varchar(100) PRIMARY KEY, warehouse varchar(9),
    FOREIGN KEY (customer_id) REFERENCES customers (id))`);
  await query(`INSERT INTO customers (id, company_name, status) VALUES
    ('a', 'A', 'active'), ('b', 'B', 'active'), ('c', 'C', 'cancelled'), ('d', 'D', 'trial')`);
  await query("INSERT INTO workspaces VALUES ('a', 'w-a'), ('c', 'w-c'), ('d', 'w-d')");
  const newcomer = await aNewcomer(world);
  const written = await newcomer.init("--base-url", world.sandbox.baseUrl);
  expect(written.stdout).toMatch(/workspaces\.warehouse +sounds like the tenant's data source/);
  expect(written.stdout).toMatch(/If \S+workspaces\.warehouse has the tenants' data sources, take the query/);

  const [config, sql] = [newcomer.configFile, newcomer.sqlFile];
  const lines = (await readFile(config, "utf8"))
    .replace(/^ {2}(table: .*\.?customers|removed_when: deleted_at IS NOT NULL)\n/gm, "")
    .replace(/^ {2}# ((query|ready_when|removed_when):.*| {2}(SELECT|FROM|LEFT JOIN) .*)$/gm, "  $1")
    .replace("mapping: {}", 'mapping: { "40": warehouse }');
  await writeFile(config, lines);
  await writeFile(sql, (await readFile(sql, "utf8")).replace(/^-- (GRANT SELECT \(.*)$/gm, "$1"));
  await newcomer.followSteps();
  const check = await world.run("check");
  expect(check.stdout.match(/^[!✗].*$/gm)).toBeNull();
  expect(check.code).toBe(0);
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 2, not_ready: 1 } });
  expect((await world.groups()).map(({ user_group_id: id, mapping }) => [id, mapping])).toEqual([
    ["a", { "40": "w-a" }],
    ["d", { "40": "w-d" }],
  ]);
});

test("what init writes can be run again", async () => {
  const world = await aWorld();
  const { query, kind } = world.database;
  await query(TABLES[0] ?? "");
  // MySQL has no IF NOT EXISTS for an index.
  const [{ version = "" } = {}] = await query<{ version: string }>("SELECT version() AS version");
  if (kind === "mysql" && !version.includes("MariaDB"))
    await query("CREATE INDEX by_change ON customers (updated_at)");
  const newcomer = await aNewcomer(world);
  expect(await newcomer.init("--base-url", world.sandbox.baseUrl, "--mapping", "40=warehouse")).toMatchObject(
    { code: 0 },
  );
  await newcomer.followSteps();
  await newcomer.followSteps();
  expect(await world.run("check")).toMatchObject({ code: 0 });
});

test("names of every kind are quoted right, in the config and in the statements", async () => {
  const world = await aWorld({ tenants: 0 });
  const { database, sandbox } = world;
  const table = `Kunden "A–Z"; -- x.y`;
  const [id, name, data] = ["Kunde`s $$ Id", 'Firma "Name"', "data source: #$1"];
  const q = (text: string): string => `"${text.replaceAll('"', '""')}"`;
  await database.query(
    `CREATE TABLE ${q(table)} (${q(id)} int PRIMARY KEY, ${q(name)} varchar(99) NOT NULL, ${q(data)} varchar(9),
       ${q("isDeleted")} boolean NOT NULL DEFAULT false, ${q("UpdatedAt")} timestamp DEFAULT CURRENT_TIMESTAMP)`,
  );
  const columns = [id, name, data, "isDeleted"].map(q).join(", ");
  const insert = (values: string) => database.query(`INSERT INTO ${q(table)} (${columns}) VALUES ${values}`);
  await insert("(1, 'Ä', 'ds-1', false), (2, 'B', 'ds-2', true)");
  const newcomer = await aNewcomer(world);
  const chosen = ["--table", table, "--id", id, "--group-name", name, "--mapping", `4$0=${data}`];
  expect(await newcomer.init(...chosen, "--base-url", sandbox.baseUrl)).toMatchObject({
    code: 0,
    stderr: "",
  });
  await newcomer.followSteps();
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 1 } });
  expect(await world.groups()).toMatchObject([{ user_group_id: "1", name: "Ä", mapping: { "4$0": "ds-1" } }]);
  await insert("(3, 'C', 'ds-3', false)");
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 1 } });
  const check = await world.run("check");
  expect(check.stdout).toContain("source.changes.column is of type");
  expect(check.stdout).not.toContain("✗");
});

test("the tenants can be in a view, whose tables nobody but its owner may read", async () => {
  const world = await aWorld({ tenants: 2 });
  const { database, sandbox } = world;
  await database.query("ALTER TABLE customers RENAME TO base");
  await database.query(
    "CREATE VIEW tenants AS SELECT id AS tenant_id, company_name AS name, warehouse FROM base",
  );
  const newcomer = await aNewcomer(world);
  expect(
    await newcomer.init("--table", "tenants", "--base-url", sandbox.baseUrl, "--mapping", "40=warehouse"),
  ).toMatchObject({ code: 0 });
  await newcomer.followSteps();
  expect((await world.run("check")).code).toBe(0);
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 2 } });
});

test.runIf(!isPostgres)("on MySQL both accounts can be for one host alone", async () => {
  const world = await aWorld({ tenants: 1 });
  const newcomer = await aNewcomer(world);
  const flags = [
    "--base-url",
    world.sandbox.baseUrl,
    "--mapping",
    "40=warehouse",
    "--account-host",
    "127.0.0.%",
  ];
  expect(await newcomer.init(...flags)).toMatchObject({ code: 0 });
  await newcomer.followSteps();
  const [reader, writer] = ["groupsync_reader", "groupsync"].map(newcomer.named);
  const accounts = await world.database.query(
    `SELECT host AS host FROM mysql.user WHERE user IN ('${reader}', '${writer}')`,
  );
  expect(accounts).toEqual([{ host: "127.0.0.%" }, { host: "127.0.0.%" }]);
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 1 } });
});

test.runIf(!isPostgres)("a url of MySQL may leave the database out: the table's is taken", async () => {
  const world = await aWorld({ tenants: 1 });
  const { database, env } = world;
  env.DATABASE_URL = Object.assign(new URL(database.url), { pathname: "" }).href;
  const { code, stdout } = await (await aNewcomer(world)).init("--table", `${database.name}.customers`);
  expect(code).toBe(0);
  expect(stdout).toMatch(
    new RegExp(`export DATABASE_URL='mysql://groupsync_reader:PASSWORD@\\S+/${database.name}'`),
  );
});
