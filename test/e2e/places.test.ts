import { describe, expect, inject, test } from "vitest";
import { type FreshDatabase, freshDatabase } from "../support/fresh-database.ts";
import { tablesIn } from "./database-acts.ts";
import { LEDGER_ELSEWHERE, LEDGER_TABLES } from "./ledger-tables.ts";
import { aWorld, fromEnvironment, until, type World } from "./world.ts";

const kind = inject("databaseKind");
const THE_OTHER = ({ postgres: "mysql", mysql: "postgres" } as const)[kind];

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
  expect(await tablesIn(world.database)).not.toContain("groupsync_tokens");
  expect(await world.sync()).toMatchObject({ code: 0, report: { unchanged: 20, requests: 0 } });
});

test("rows: existing without a row for a tenant costs that tenant alone, until there is one", async () => {
  const world = await aWorld({
    tenants: 3,
    config: { tokens: { table: "accounts", rows: "existing", id_column: "customer", token_column: "token" } },
  });
  const { query } = world.database;
  await query("CREATE TABLE accounts (customer varchar(100), token text)");
  await query("INSERT INTO accounts (customer) VALUES ('t-00001'), ('t-00002')");
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
  await query("INSERT INTO accounts (customer) VALUES ('t-00003')");
  expect((await world.sync()).code).toBe(0);
  expect(tokensOf(await query("SELECT customer AS id, token FROM accounts"))).toEqual(await world.live());
});

test("tokens and ledger may live in databases of their own", async () => {
  const [tokens, ledger] = [await freshDatabase(), await freshDatabase()];
  const world = await aWorld({
    tenants: 50,
    config: {
      tokens: { url: fromEnvironment("TOKENS_URL") },
      ledger: { url: fromEnvironment("LEDGER_URL"), table_prefix: LEDGER_ELSEWHERE[kind] },
    },
  });
  world.env.TOKENS_URL = tokens.url;
  world.env.LEDGER_URL = ledger.url;
  expect((await world.sync()).code).toBe(0);

  expect(await tablesIn(world.database)).toEqual(["customers"]);
  expect([...(await tablesIn(tokens))].sort()).toEqual(["groupsync_token_owners", "groupsync_tokens"]);
  expect(await tablesIn(ledger)).toEqual(LEDGER_TABLES.map((table) => `${LEDGER_ELSEWHERE[kind]}${table}`));
  expect(await world.stored(tokens)).toEqual(await world.live());
  expect(await world.sync()).toMatchObject({ code: 0, report: { unchanged: 50, requests: 0 } });
});

describe(`with tenants in ${kind},`, () => {
  const elsewhere = { url: fromEnvironment("OTHER_URL") };
  const existing = { table: "accounts", rows: "existing", id_column: "customer", token_column: "token" };

  test.each([
    { what: "tokens and ledger", tokens: elsewhere, ledger: elsewhere },
    { what: "the tokens", tokens: elsewhere, ledger: {} },
    { what: "the ledger", tokens: {}, ledger: elsewhere },
    { what: "ledger and existing rows", tokens: { ...elsewhere, ...existing }, ledger: elsewhere },
    { what: "existing rows", tokens: { ...elsewhere, ...existing }, ledger: {} },
    { what: "the ledger of existing rows", tokens: existing, ledger: elsewhere },
  ])(`$what in ${THE_OTHER}: groups come, change, get new tokens and go`, async ({ tokens, ledger }) => {
    const other = await freshDatabase(THE_OTHER);
    const world = await aWorld({
      tenants: 20,
      config: {
        tokens,
        ledger,
        service: { update: "replace" },
        deletion: { grace_period: "0s", limit: { count: 100 } },
      },
    });
    world.env.OTHER_URL = other.url;
    const place = "url" in tokens ? other : world.database;
    const hasRows = "rows" in tokens;
    if (hasRows) await fillAccounts(world, place);
    const expectTokens = async (): Promise<void> => {
      const stored = hasRows
        ? tokensOf(await place.query("SELECT customer AS id, token FROM accounts WHERE token IS NOT NULL"))
        : await world.stored(place);
      expect(stored).toEqual(await world.live());
    };

    expect(await world.sync()).toMatchObject({ code: 0, report: { created: 20 } });
    await expectTokens();
    await world.removeTenants(1, 2);
    await world.database.query("UPDATE customers SET company_name = 'Größer' WHERE id = 't-00003'");
    expect(await world.sync()).toMatchObject({ code: 0, report: { deleted: 2, replaced: 1, unchanged: 17 } });
    await expectTokens();
    const before = await world.live();
    expect(await world.rotate("--all")).toMatchObject({ code: 0, report: { rotated: 18 } });
    await expectTokens();
    const after = await world.live();
    expect(Object.keys(after).filter((id) => after[id] === before[id])).toEqual([]);
    expect(await world.plan()).toMatchObject({ create: [], update: [], delete: [], unchanged: 18 });
    expect(await world.sync()).toMatchObject({ code: 0, report: { unchanged: 18, requests: 0 } });
    expect(await world.status()).toMatchObject({ groups: { total: 18, in_sync: 18 }, lease: null });
  });

  /** With the rows of all tenants, whose tokens are to be filled in. */
  async function fillAccounts(world: World, { query }: FreshDatabase): Promise<void> {
    await query("CREATE TABLE accounts (customer varchar(100) PRIMARY KEY, token text)");
    for (const { id } of await world.database.query("SELECT id FROM customers")) {
      await query("INSERT INTO accounts (customer) VALUES ($1)", [id]);
    }
  }

  test.each([kind, THE_OTHER])("a kill on the way to tokens in %s is made good", async (kindOfTokens) => {
    const tokens = await freshDatabase(kindOfTokens);
    const world = await aWorld({
      tenants: 200,
      service: { latency: { min: 10, max: 20 } },
      config: { service: { timeout: "2s" }, tokens: { url: fromEnvironment("TOKENS_URL") } },
    });
    world.env.TOKENS_URL = tokens.url;
    const killed = world.start("sync");
    await until(async () => (await world.requests()).total >= 60);
    await killed.stop("SIGKILL");
    expect((await world.sync()).code).toBe(0);
    expect(await world.stored(tokens)).toEqual(await world.live());
  });
});
