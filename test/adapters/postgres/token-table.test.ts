import { describe, expect, test } from "vitest";
import { SqlTokenTable } from "../../../src/adapters/sql/token-table.ts";
import type { SyncError } from "../../../src/core/errors.ts";
import { anApply } from "../../builders/groups.ts";
import { everythingIn } from "../../contracts/everything-in.ts";
import { someTokens, tokenStoreContract } from "../../contracts/token-store.ts";
import { freshDatabase } from "../../support/fresh-database.ts";
import { aDatabase } from "../sql/ledger-database.ts";
import { aRole } from "./roles.ts";
import { aTokenPlace, EXISTING, ledgerWrite, OWN, type PostgresTokenPlace } from "./token-place.ts";

for (const where of ["with the ledger", "elsewhere"] as const) {
  tokenStoreContract(`PostgreSQL, own rows, ${where}`, (ids) => aTokenPlace(OWN, where, ids));
  tokenStoreContract(`PostgreSQL, existing rows, ${where}`, (ids) => aTokenPlace(EXISTING, where, ids));
}

const write = (
  { store, write }: Pick<PostgresTokenPlace, "store" | "write">,
  tokens: Readonly<Record<string, string>>,
): Promise<ReadonlyMap<string, SyncError>> =>
  write((transaction) => store.write(someTokens(tokens), transaction));

const remove = (
  { store, write }: Pick<PostgresTokenPlace, "store" | "write">,
  ids: readonly string[],
): Promise<ReadonlyMap<string, SyncError>> => write((transaction) => store.remove(ids, transaction));

describe("own rows", () => {
  test("a row is touched only when its token differs", async () => {
    const place = await aTokenPlace(OWN, "with the ledger");
    await place.store.prepare();
    await write(place, { a: "token-a", b: "token-b" });
    await place.tokens.query("UPDATE groupsync_tokens SET updated_at = '2001-01-01'");
    await write(place, { a: "token-a", b: "token-b2" });
    const touched = await place.tokens.query(
      "SELECT user_group_id FROM groupsync_tokens WHERE updated_at > '2001-01-02'",
    );
    expect(touched).toEqual([{ user_group_id: "b" }]);
  });

  test("a token that is written again doesn't count as updated", async () => {
    const place = await aTokenPlace(OWN, "with the ledger");
    await place.store.prepare();
    await write(place, { a: "token-a", b: "token-b" });
    await place.tokens.query("UPDATE groupsync_tokens SET updated_at = '2001-01-01'");
    await place.write((transaction) =>
      place.store.write(someTokens({ a: "token-a", b: "token-b2" }), transaction, { rewrite: true }),
    );
    const updated = await place.tokens.query(
      "SELECT user_group_id FROM groupsync_tokens WHERE updated_at > '2001-01-02'",
    );
    expect(updated).toEqual([{ user_group_id: "b" }]);
  });

  test("odd names are quoted", async () => {
    const { url, query } = await freshDatabase();
    await query('CREATE SCHEMA "Ops Team"');
    const database = aDatabase(url);
    const store = new SqlTokenTable(database, {
      table: '"Ops Team"."The ""Tokens"""',
      rows: "own",
      idColumn: "Group ID",
      tokenColumn: "select",
    });
    await store.prepare();
    await write({ store, write: await ledgerWrite(database) }, { a: "token-a" });
    expect(await query('SELECT "Group ID", "select" FROM "Ops Team"."The ""Tokens"""')).toEqual([
      { "Group ID": "a", select: "token-a" },
    ]);
  });

  test("a table of somebody else's is refused, with the columns that it lacks", async () => {
    const { url, query } = await freshDatabase();
    await query("CREATE TABLE groupsync_tokens (user_group_id text PRIMARY KEY, secret text)");
    await expect(new SqlTokenTable(aDatabase(url), OWN).prepare()).rejects.toMatchObject({
      code: "CONFIG_COLUMNS",
      message: "tokens.table: groupsync_tokens has no column token, updated_at",
      hint: "its columns are: user_group_id, secret",
    });
  });

  test.each([
    ["ids that are numbers", "user_group_id int PRIMARY KEY, token text", "user_group_id"],
    ["tokens that are numbers", "user_group_id text PRIMARY KEY, token int", "token"],
    [
      "tokens that are computed",
      "user_group_id text PRIMARY KEY, token text GENERATED ALWAYS AS ('x') STORED",
      "token",
    ],
  ])("a table with %s is refused before any token is fetched", async (_, columns, column) => {
    const { url, query } = await freshDatabase();
    await query(`CREATE TABLE groupsync_tokens (${columns}, updated_at timestamptz)`);
    await expect(new SqlTokenTable(aDatabase(url), OWN).prepare()).rejects.toMatchObject({
      code: "CONFIG_COLUMNS",
      message: `tokens.table: groupsync_tokens can't take text in column ${column}`,
    });
  });

  test("a table whose ids are not unique is refused before any token is fetched", async () => {
    const { url, query } = await freshDatabase();
    await query("CREATE TABLE groupsync_tokens (user_group_id text, token text, updated_at timestamptz)");
    await expect(new SqlTokenTable(aDatabase(url), OWN).prepare()).rejects.toMatchObject({
      code: "CONFIG_COLUMNS",
      message: "tokens.table: groupsync_tokens may have several rows for one user_group_id",
      hint: 'ALTER TABLE "groupsync_tokens" ADD PRIMARY KEY ("user_group_id")',
    });
  });

  test.each(["SELECT, INSERT, UPDATE", "INSERT, UPDATE, DELETE"])(
    "a role with %s alone is told which GRANT to run",
    async (rights) => {
      const database = await freshDatabase();
      await new SqlTokenTable(aDatabase(database.url), OWN).prepare();
      const { name, url } = await aRole(database);
      await database.query(`GRANT ${rights} ON groupsync_tokens TO ${name}`);
      const store = new SqlTokenTable(aDatabase(url), OWN);
      const error: SyncError = await store.prepare().catch((thrown) => thrown);
      expect(error).toMatchObject({
        code: "TOKEN_STORE_UNAVAILABLE",
        message: `user ${name} may not write tokens to groupsync_tokens`,
        hint: `GRANT SELECT, INSERT, UPDATE, DELETE ON "groupsync_tokens" TO "${name}"`,
      });
      await database.query(error.hint ?? "");
      await store.prepare();
    },
  );
});

describe("existing rows", () => {
  const UUID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";

  test.each([
    ["text", "a", ["A", "a "]],
    ["varchar(5)", "abcde", ["abcdef"]],
    ["char(5)", "a", ["b", "a "]],
    ["integer", "42", ["042", "42 ", "forty", "99999999999"]],
    ["bigint", "9223372036854775807", ["9223372036854775808"]],
    ["uuid", UUID, [UUID.toUpperCase(), "a", UUID.replaceAll("-", "")]],
    ["citext", "Acme", ["acme"]],
  ])("%s ids are met to the letter", async (type, id, others) => {
    const { url, query } = await freshDatabase();
    if (type === "citext") await query("CREATE EXTENSION citext");
    await query(`CREATE TABLE customers (id ${type} PRIMARY KEY, dashboard_token text)`);
    await query("INSERT INTO customers VALUES ($1)", [id]);
    const database = aDatabase(url);
    const place = { store: new SqlTokenTable(database, EXISTING), write: await ledgerWrite(database) };
    await place.store.prepare();

    const tokens = Object.fromEntries([id, ...others].map((key) => [key, `token-of-${key}`]));
    const refused = await write(place, tokens);
    expect([...refused.keys()].sort()).toEqual([...others].sort());
    for (const error of refused.values()) expect(error.code).toBe("TOKEN_NOT_STORED");
    expect(await query("SELECT dashboard_token FROM customers")).toEqual([
      { dashboard_token: `token-of-${id}` },
    ]);

    const found = await place.store.read([...others, id]);
    expect([...found.keys()]).toEqual([id]);
    expect(await remove(place, others)).toEqual(new Map());
    expect(await query("SELECT dashboard_token FROM customers")).toEqual([
      { dashboard_token: `token-of-${id}` },
    ]);
    expect(await remove(place, [...others, id])).toEqual(new Map());
    expect(await query("SELECT dashboard_token FROM customers")).toEqual([{ dashboard_token: null }]);
  });

  test("a tenant without a row there costs that tenant alone", async () => {
    const place = await aTokenPlace(EXISTING, "with the ledger");
    await place.store.prepare();
    const refused = await write(place, { a: "token-a", gone: "token-gone" });
    expect([...refused]).toEqual([
      [
        "gone",
        expect.objectContaining({
          code: "TOKEN_NOT_STORED",
          message: 'customers has no row whose id is "gone"',
          hint: expect.stringContaining("rows: existing"),
        }),
      ],
    ]);
    expect(await place.stored()).toMatchObject({ a: "token-a", b: null });
  });

  test("a row that holds the token already is left alone, also by its triggers", async () => {
    const place = await aTokenPlace(EXISTING, "with the ledger");
    await place.store.prepare();
    await write(place, { a: "token-a", b: "token-b" });
    await place.tokens.query("ALTER TABLE customers ADD COLUMN touched int NOT NULL DEFAULT 0");
    await place.tokens.query(
      `CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN NEW.touched := OLD.touched + 1; RETURN NEW; END $$`,
    );
    await place.tokens.query(
      "CREATE TRIGGER touch BEFORE UPDATE ON customers FOR EACH ROW EXECUTE FUNCTION touch()",
    );
    await write(place, { a: "token-a", b: "token-b2" });
    expect(await place.tokens.query("SELECT id, touched FROM customers WHERE id <= 'b' ORDER BY id")).toEqual(
      [
        { id: "a", touched: 0 },
        { id: "b", touched: 1 },
      ],
    );
  });

  test.each([
    ["a token too long for its column", "ALTER TABLE customers ALTER dashboard_token TYPE varchar(7)"],
    [
      "a constraint that takes the token apart",
      "ALTER TABLE customers ADD CHECK (substr(dashboard_token, 7)::text = 'a' OR substr(dashboard_token, 7)::int > 0)",
    ],
    [
      "a trigger that raises an exception about it",
      `CREATE FUNCTION check_token() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF NEW.dashboard_token <> 'token-a' THEN
           RAISE EXCEPTION 'no good: %', upper(NEW.dashboard_token) USING DETAIL = NEW.dashboard_token;
         END IF; RETURN NEW; END $$;
       CREATE TRIGGER check_token BEFORE UPDATE ON customers FOR EACH ROW EXECUTE FUNCTION check_token()`,
    ],
  ])("%s costs one tenant, and tells nothing of the token", async (_, sql) => {
    const place = await aTokenPlace(EXISTING, "with the ledger");
    await place.tokens.query(sql);
    await place.store.prepare();
    const refused = await write(place, { b: "token-secretvalue", a: "token-a" });
    expect([...refused.keys()]).toEqual(["b"]);
    expect(await place.stored()).toMatchObject({ a: "token-a", b: null });
    const told = everythingIn(refused.get("b")).toLowerCase();
    expect(told).toContain("customers refused the token");
    expect(told).not.toContain("secretvalue");
  });

  test("a column of another type is refused for all, without a token in the error", async () => {
    const place = await aTokenPlace(EXISTING, "elsewhere");
    await place.store.prepare();
    await place.tokens.query("ALTER TABLE customers ALTER dashboard_token TYPE int USING NULL");
    const error = await write(place, { a: "token-a" }).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: "TOKEN_STORE_UNAVAILABLE" });
    expect(everythingIn(error)).not.toContain("token-a");
  });

  test("missing columns are named", async () => {
    const { url, query } = await freshDatabase();
    await query("CREATE TABLE customers (customer_id text, name text)");
    await expect(new SqlTokenTable(aDatabase(url), EXISTING).prepare()).rejects.toMatchObject({
      code: "CONFIG_COLUMNS",
      message: "tokens.table: customers has no column id, dashboard_token",
      hint: "its columns are: customer_id, name",
    });
  });

  test("a missing table is not made", async () => {
    const { url, query } = await freshDatabase();
    await expect(new SqlTokenTable(aDatabase(url), EXISTING).prepare()).rejects.toMatchObject({
      code: "TOKEN_STORE_UNAVAILABLE",
      message: expect.stringContaining("customers"),
      hint: expect.stringContaining("check the table's name"),
    });
    expect(await query("SELECT to_regclass('customers') AS there")).toEqual([{ there: null }]);
  });

  test.each([
    "SELECT",
    "UPDATE (dashboard_token)",
    "SELECT (id), UPDATE (dashboard_token)",
    "SELECT, UPDATE (id)",
  ])("a role with %s alone is told which GRANT to run", async (rights) => {
    const { tokens } = await aTokenPlace(EXISTING, "with the ledger");
    const { name, url } = await aRole(tokens);
    await tokens.query(`GRANT ${rights} ON customers TO ${name}`);
    const store = new SqlTokenTable(aDatabase(url), EXISTING);
    const error: SyncError = await store.prepare().catch((thrown) => thrown);
    expect(error).toMatchObject({
      code: "TOKEN_STORE_UNAVAILABLE",
      message: `user ${name} may not write tokens to customers`,
      hint: `GRANT SELECT, UPDATE ("dashboard_token") ON "customers" TO "${name}"`,
    });
    await tokens.query(error.hint ?? "");
    await store.prepare();
  });

  test("the rights to two columns are enough", async () => {
    const { tokens, write: write_ } = await aTokenPlace(EXISTING, "elsewhere");
    const { name, url } = await aRole(tokens);
    await tokens.query(
      `GRANT SELECT (id, dashboard_token), UPDATE (dashboard_token) ON customers TO ${name}`,
    );
    const store = new SqlTokenTable(aDatabase(url), EXISTING);
    await store.prepare();
    expect(await write({ store, write: write_ }, { a: "token-a" })).toEqual(new Map());
  });
});

test("a refused token doesn't undo what the ledger's transaction did", async () => {
  const place = await aTokenPlace(OWN, "with the ledger");
  await place.store.prepare();
  await place.refuseSome();
  await place.write(async (transaction) => {
    await transaction.begin([anApply()], new Date());
    await place.store.write(someTokens({ acme: "refused" }), transaction);
  });
  expect(await place.tokens.query("SELECT user_group_id FROM groupsync_groups")).toEqual([
    { user_group_id: "acme" },
  ]);
});
