import { describe, expect, inject, test } from "vitest";
import { type FreshDatabase, freshDatabase } from "../../support/databases/fresh-database.ts";
import { someOf } from "../../support/long.ts";
import { tablesIn } from "../database/database-acts.ts";
import { LEDGER_ELSEWHERE, LEDGER_TABLES } from "../ledger-tables.ts";
import { aWorld, fromEnvironment, type World } from "../world.ts";

const kind = inject("databaseKind");
const THE_OTHER = ({ postgres: "mysql", mysql: "postgres" } as const)[kind];

const tokensOf = (rows: readonly { id?: unknown; token?: unknown }[]) =>
  Object.fromEntries(rows.map(({ id, token }) => [id, token]));

test("rows: existing writes only the token column, and a tenant without a row fails alone until there is a row", async () => {
  const world = await aWorld({
    tenants: 3,
    config: { tokens: { table: "accounts", rows: "existing", id_column: "customer", token_column: "token" } },
  });
  const { query } = world.database;
  await query("CREATE TABLE accounts (customer varchar(100), owner text, token text)");
  await query("INSERT INTO accounts (customer, owner) VALUES ('t-00001', 'Ann'), ('t-00002', 'Bo')");
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
  await query("INSERT INTO accounts (customer, owner) VALUES ('t-00003', 'Cy')");
  expect((await world.sync()).code).toBe(0);
  expect(tokensOf(await query("SELECT customer AS id, token FROM accounts"))).toEqual(await world.live());
  expect(await query("SELECT customer, owner FROM accounts ORDER BY customer")).toEqual([
    { customer: "t-00001", owner: "Ann" },
    { customer: "t-00002", owner: "Bo" },
    { customer: "t-00003", owner: "Cy" },
  ]);
  expect(await tablesIn(world.database)).not.toContain("groupsync_tokens");
});

test("tokens and ledger can be in databases of their own", async () => {
  const [database, tokens, ledger] = [await freshDatabase(), await freshDatabase(), await freshDatabase()];
  const world = await aWorld({
    database,
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
});

describe(`with tenants in ${kind},`, () => {
  const elsewhere = { url: fromEnvironment("OTHER_URL") };
  const existing = { table: "accounts", rows: "existing", id_column: "customer", token_column: "token" };

  test.each(
    someOf(
      [
        { what: "existing rows", tokens: { ...elsewhere, ...existing }, ledger: {} },
        { what: "the ledger", tokens: {}, ledger: elsewhere },
        { what: "tokens and ledger", tokens: elsewhere, ledger: elsewhere },
        { what: "the tokens", tokens: elsewhere, ledger: {} },
        { what: "ledger and existing rows", tokens: { ...elsewhere, ...existing }, ledger: elsewhere },
        { what: "the ledger of existing rows", tokens: existing, ledger: elsewhere },
      ],
      2,
    ),
  )(`$what in ${THE_OTHER}: groups come, change, get new tokens and go`, async ({ tokens, ledger }) => {
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
    const before = await world.live();
    expect(await world.rotate("--all")).toMatchObject({ code: 0, report: { rotated: 20 } });
    await expectTokens();
    const after = await world.live();
    expect(Object.keys(after).filter((id) => after[id] === before[id])).toEqual([]);
    await world.removeTenants(1, 2);
    await world.database.query("UPDATE customers SET company_name = 'Größer' WHERE id = 't-00003'");
    expect(await world.sync()).toMatchObject({ code: 0, report: { deleted: 2, replaced: 1, unchanged: 17 } });
    await expectTokens();
  });

  /** Makes a table with a row for each tenant, into which the tokens are written. */
  async function fillAccounts(world: World, { query }: FreshDatabase): Promise<void> {
    await query("CREATE TABLE accounts (customer varchar(100) PRIMARY KEY, token text)");
    for (const { id } of await world.database.query("SELECT id FROM customers")) {
      await query("INSERT INTO accounts (customer) VALUES ($1)", [id]);
    }
  }
});
