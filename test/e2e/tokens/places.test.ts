import { describe, expect, inject, test } from "vitest";
import { type FreshDatabase, freshDatabase } from "../../support/databases/fresh-database.ts";
import { someOf } from "../../support/long.ts";
import { aWorld, fromEnvironment, type World } from "../world.ts";

const kind = inject("databaseKind");
const THE_OTHER = ({ postgres: "mysql", mysql: "postgres" } as const)[kind];

const tokensOf = (rows: readonly { id?: unknown; token?: unknown }[]) =>
  Object.fromEntries(rows.map(({ id, token }) => [id, token]));

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
    expect(await world.rotate("--all", "--yes")).toMatchObject({ code: 0, report: { rotated: 20 } });
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
