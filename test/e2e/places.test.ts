import { expect, test } from "vitest";
import { freshDatabase } from "../support/fresh-database.ts";
import { aWorld, fromEnvironment } from "./world.ts";

const tokensOf = (rows: readonly { id?: unknown; token?: unknown }[]) =>
  Object.fromEntries(rows.map(({ id, token }) => [id, token]));

test("rows: existing fills the customers' own column, and nothing else of theirs", async () => {
  const world = await aWorld({
    tenants: 20,
    config: {
      tokens: { table: "customers", rows: "existing", id_column: "id", token_column: "dashboard_token" },
    },
  });
  const { query } = world.database;
  const others = () => query("SELECT id, company_name, warehouse, plan FROM customers ORDER BY id");
  const before = await others();
  expect((await world.sync()).code).toBe(0);
  expect(tokensOf(await query("SELECT id, dashboard_token AS token FROM customers"))).toEqual(
    await world.live(),
  );
  expect(await others()).toEqual(before);
  expect(await query("SELECT to_regclass('groupsync_tokens') AS own")).toEqual([{ own: null }]);
  expect(await world.sync()).toMatchObject({ code: 0, report: { unchanged: 20, requests: 0 } });
});

test("rows: existing without a row for a tenant costs that tenant alone, until there is one", async () => {
  const world = await aWorld({
    tenants: 3,
    config: { tokens: { table: "accounts", rows: "existing", id_column: "customer", token_column: "token" } },
  });
  const { query } = world.database;
  await query("CREATE TABLE accounts AS SELECT id AS customer, NULL::text AS token FROM customers LIMIT 2");
  const { code, report } = await world.sync();
  expect(code).toBe(3);
  expect(report).toMatchObject({
    created: 2,
    failed: 1,
    errors: [
      {
        user_group_id: "t-00003",
        code: "TOKEN_NOT_STORED",
        message: 'accounts has no row whose customer is "t-00003"',
      },
    ],
  });
  await query("INSERT INTO accounts VALUES ('t-00003')");
  expect((await world.sync()).code).toBe(0);
  expect(tokensOf(await query("SELECT customer AS id, token FROM accounts"))).toEqual(await world.live());
});

test("tokens and ledger may live in databases of their own, the ledger in a schema", async () => {
  const [tokens, ledger] = [await freshDatabase(), await freshDatabase()];
  const world = await aWorld({
    tenants: 50,
    config: {
      tokens: { url: fromEnvironment("TOKENS_URL") },
      ledger: { url: fromEnvironment("LEDGER_URL"), table_prefix: "ops.groupsync_" },
    },
  });
  world.env.TOKENS_URL = tokens.url;
  world.env.LEDGER_URL = ledger.url;
  expect((await world.sync()).code).toBe(0);

  const tablesOf = async ({ query }: typeof tokens) =>
    (
      await query(
        `SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
         WHERE relkind = 'r' AND nspname !~ '^pg_' AND nspname <> 'information_schema' ORDER BY relname`,
      )
    ).map(({ name }) => name);
  expect(await tablesOf(world.database)).toEqual(["customers"]);
  expect(await tablesOf(tokens)).toEqual(["groupsync_tokens"]);
  expect(await tablesOf(ledger)).toEqual(
    ["evidence", "former_tokens", "groups", "leases", "migrations", "removals", "runs", "services"].map(
      (name) => `ops.groupsync_${name}`,
    ),
  );
  expect(tokensOf(await tokens.query("SELECT user_group_id AS id, token FROM groupsync_tokens"))).toEqual(
    await world.live(),
  );
  expect(await world.sync()).toMatchObject({ code: 0, report: { unchanged: 50, requests: 0 } });
});

test("killed between two databases, tokens and ledger come together again", async () => {
  const tokens = await freshDatabase();
  const world = await aWorld({
    tenants: 200,
    service: { latency: { min: 10, max: 20 } },
    config: { tokens: { url: fromEnvironment("TOKENS_URL") } },
  });
  world.env.TOKENS_URL = tokens.url;
  const killed = world.start("sync");
  while ((await world.requests()).total < 60);
  await killed.stop("SIGKILL");
  expect((await world.sync()).code).toBe(0);
  expect(tokensOf(await tokens.query("SELECT user_group_id AS id, token FROM groupsync_tokens"))).toEqual(
    await world.live(),
  );
});
