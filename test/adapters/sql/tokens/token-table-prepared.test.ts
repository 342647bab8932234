import { describe, expect, inject, test } from "vitest";
import { SqlTokenTable } from "../../../../src/adapters/sql/tokens/token-table.ts";
import type { SyncError } from "../../../../src/core/failure/sync-error.ts";
import { type FreshDatabase, freshDatabase } from "../../../support/databases/fresh-database.ts";
import { aRole, makerOf } from "../../../support/databases/role.ts";
import { aDatabase } from "../ledger/ledger-database.ts";
import { aTokenPlace, EXISTING, OWN, writeTokens } from "./token-place.ts";

const DATABASES = {
  postgres: {
    id: "text",
    quote: '"',
    serial: "serial int GENERATED ALWAYS AS IDENTITY",
    fillApp: [
      "CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.app = 1; RETURN NEW; END'",
      "CREATE TRIGGER fill BEFORE INSERT ON groupsync_tokens FOR EACH ROW EXECUTE FUNCTION fill()",
    ],
    account: (name: string) => ({ name, quoted: `"${name}"` }),
  },
  mysql: {
    id: "varbinary(512)",
    quote: "`",
    serial: "serial int NOT NULL UNIQUE AUTO_INCREMENT",
    fillApp: ["ALTER TABLE groupsync_tokens ALTER COLUMN app SET DEFAULT '1'"],
    account: (name: string) => ({ name: `${name}@%`, quoted: `\`${name}\`@\`%\`` }),
  },
};
const { id, quote, serial, fillApp, account } = DATABASES[inject("databaseKind")];
const quoted = (name: string): string => `${quote}${name}${quote}`;
/** A table by the schema that it was found in. */
const placed = ({ kind, name }: FreshDatabase, table: string): string =>
  `${quoted(kind === "postgres" ? "public" : name)}.${quoted(table)}`;

describe("own rows", () => {
  test("a table that lacks columns is refused, and the error names the columns", async () => {
    const { url, query } = await freshDatabase();
    await query(`CREATE TABLE groupsync_tokens (user_group_id ${id} PRIMARY KEY, secret text)`);
    await expect(new SqlTokenTable(aDatabase(url), OWN).prepare()).rejects.toMatchObject({
      code: "CONFIG_COLUMNS",
      message: "tokens.table: groupsync_tokens has no column token, updated_at",
      hint: "its columns are: user_group_id, secret",
    });
  });

  test.each([
    ["ids that are numbers", "user_group_id int PRIMARY KEY, token text", "user_group_id"],
    ["tokens that are numbers", `user_group_id ${id} PRIMARY KEY, token int`, "token"],
    [
      "tokens that are computed",
      `user_group_id ${id} PRIMARY KEY, token varchar(9) GENERATED ALWAYS AS ('x') STORED`,
      "token",
    ],
  ])("a table with %s is refused before any token is fetched", async (_, columns, column) => {
    const { url, query } = await freshDatabase();
    await query(`CREATE TABLE groupsync_tokens (${columns}, updated_at timestamp)`);
    await expect(new SqlTokenTable(aDatabase(url), OWN).prepare()).rejects.toMatchObject({
      code: "CONFIG_COLUMNS",
      message: `tokens.table: groupsync_tokens can't take text in column ${column}`,
    });
  });

  test("a table that needs a value in another column is refused, until something fills that column", async () => {
    const database = await freshDatabase();
    await database.query(
      `CREATE TABLE groupsync_tokens (user_group_id ${id} PRIMARY KEY, token varchar(100), updated_at timestamp,
         app varchar(9) NOT NULL, number int NOT NULL DEFAULT 1, ${serial},
         twice int GENERATED ALWAYS AS (2) STORED)`,
    );
    const store = new SqlTokenTable(aDatabase(database.url), OWN);
    const refusal = { message: expect.stringMatching(/^(?!.*(number|serial|twice)).*\bapp\b/) };
    await expect(store.prepare()).rejects.toMatchObject(refusal);
    await expect(store.inspect()).rejects.toMatchObject(refusal);
    for (const statement of fillApp) await database.query(statement);
    await store.prepare();
  });

  test.each(["", ", UNIQUE (user_group_id, token)"])(
    "a table whose ids are not unique is refused before any token is fetched%s",
    async (key) => {
      const database = await freshDatabase();
      await database.query(
        `CREATE TABLE groupsync_tokens (user_group_id ${id}, token varchar(100), updated_at timestamp${key})`,
      );
      await expect(new SqlTokenTable(aDatabase(database.url), OWN).prepare()).rejects.toMatchObject({
        code: "CONFIG_COLUMNS",
        message: "tokens.table: groupsync_tokens may have several rows for one user_group_id",
        hint: `ALTER TABLE ${placed(database, "groupsync_tokens")} ADD PRIMARY KEY (${quoted("user_group_id")})`,
      });
    },
  );

  test.each(["SELECT, INSERT, UPDATE", "INSERT, UPDATE, DELETE", "SELECT, INSERT, DELETE"])(
    "a role with %s alone is told which GRANT to run",
    async (rights) => {
      const database = await freshDatabase();
      await new SqlTokenTable(aDatabase(database.url), OWN).prepare();
      const role = await aRole(database);
      await database.query(`GRANT ${rights} ON groupsync_tokens TO ${role.name}`);
      const store = new SqlTokenTable(aDatabase(role.url), { ...OWN, owner: makerOf(database) });
      const error: SyncError = await store.prepare().catch((thrown) => thrown);
      const { message, hint } = error;
      await expect(store.inspect()).rejects.toMatchObject({ message, hint });
      const user = account(role.name);
      expect(error).toMatchObject({
        code: "TOKEN_STORE_UNAVAILABLE",
        message: `user ${user.name} may not write tokens to groupsync_tokens`,
        hint: expect.stringMatching(
          new RegExp(
            `^GRANT (CREATE, )?SELECT, INSERT, UPDATE, DELETE ON ${placed(database, "groupsync_tokens")} TO ${user.quoted}$`,
          ),
        ),
      });
      await database.query(error.hint ?? "");
      await store.inspect();
      await store.prepare();
    },
  );

  test("`inspect` accepts a missing table and does not create it", async () => {
    const database = await freshDatabase();
    const store = new SqlTokenTable(aDatabase(database.url), OWN);
    await store.inspect();
    await expect(database.query("SELECT * FROM groupsync_tokens")).rejects.toThrow();
  });

  test("a role that may not create the table is told which GRANT to run", async () => {
    const database = await freshDatabase();
    const role = await aRole(database);
    // Before PostgreSQL 15 everybody may create tables in public.
    if (database.kind === "postgres") await database.query("REVOKE ALL ON SCHEMA public FROM public");
    const store = new SqlTokenTable(aDatabase(role.url), OWN);
    const error: SyncError = await store.inspect().catch((thrown) => thrown);
    const { code, message, hint = "" } = error;
    expect({ code, hint }).toEqual({
      code: "TOKEN_STORE_UNAVAILABLE",
      hint: expect.stringMatching(/^GRANT .*CREATE.* ON /),
    });
    await expect(store.prepare()).rejects.toMatchObject({ code, message, hint });
    await database.query(hint);
    await store.inspect();
    await store.prepare();
  });
});

test("programs that find the token table missing at the same moment create it once", async () => {
  const { url, query } = await freshDatabase();
  const programs = Array.from({ length: 8 }, () => new SqlTokenTable(aDatabase(url), OWN));
  await Promise.all(programs.map((program) => program.prepare()));
  expect(await query("SELECT * FROM groupsync_tokens")).toEqual([]);
});

test.each([OWN, EXISTING])(
  "a table can be prepared while its rows are locked: $rows rows",
  async (options) => {
    const { tokens, store, write } = await aTokenPlace(options, "with the ledger");
    await store.prepare();
    await writeTokens({ store, write }, { a: "token-a" });
    await aDatabase(tokens.url).transaction(["BEGIN"], async (connection) => {
      await connection.query(`UPDATE ${placed(tokens, options.table)} SET ${options.tokenColumn} = 'locked'`);
      await store.prepare();
    });
  },
);

describe("existing rows", () => {
  test("the error names missing columns", async () => {
    const { url, query } = await freshDatabase();
    await query("CREATE TABLE customers (customer_id text, name text)");
    await expect(new SqlTokenTable(aDatabase(url), EXISTING).prepare()).rejects.toMatchObject({
      code: "CONFIG_COLUMNS",
      message: "tokens.table: customers has no column id, dashboard_token",
      hint: "its columns are: customer_id, name",
    });
  });

  test("a missing table is not created", async () => {
    const { url, query } = await freshDatabase();
    await expect(new SqlTokenTable(aDatabase(url), EXISTING).prepare()).rejects.toMatchObject({
      code: "TOKEN_STORE_UNAVAILABLE",
      message: expect.stringContaining("customers"),
      hint: expect.stringContaining("check the table's name"),
    });
    await expect(query("SELECT * FROM customers")).rejects.toThrow(/exist/);
  });

  test.each([
    "SELECT",
    "UPDATE (dashboard_token)",
    "SELECT (id), UPDATE (dashboard_token)",
    "SELECT, UPDATE (id)",
  ])("a role with %s alone is told which GRANT to run", async (rights) => {
    const { tokens } = await aTokenPlace(EXISTING, "with the ledger");
    const role = await aRole(tokens);
    await tokens.query(`GRANT ${rights} ON customers TO ${role.name}`);
    const store = new SqlTokenTable(aDatabase(role.url), EXISTING);
    const error: SyncError = await store.prepare().catch((thrown) => thrown);
    const user = account(role.name);
    expect(error).toMatchObject({
      code: "TOKEN_STORE_UNAVAILABLE",
      message: `user ${user.name} may not write tokens to customers`,
      hint: `GRANT SELECT, UPDATE (${quoted("dashboard_token")}) ON ${placed(tokens, "customers")} TO ${user.quoted}`,
    });
    await tokens.query(error.hint ?? "");
    await store.prepare();
  });

  test("rights to two columns are enough", async () => {
    const { tokens, write } = await aTokenPlace(EXISTING, "elsewhere");
    const { name, url } = await aRole(tokens);
    await tokens.query(
      `GRANT SELECT (id, dashboard_token), UPDATE (dashboard_token) ON customers TO ${name}`,
    );
    const store = new SqlTokenTable(aDatabase(url), EXISTING);
    await store.prepare();
    expect(await writeTokens({ store, write }, { a: "token-a" })).toEqual(new Map());
  });
});
