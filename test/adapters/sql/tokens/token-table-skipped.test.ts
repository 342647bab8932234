import { expect, inject, test } from "vitest";
import type { TokenTableOptions } from "../../../../src/adapters/sql/dialect/token-statements.ts";
import { SqlTokenTable } from "../../../../src/adapters/sql/tokens/token-table.ts";
import { someTokens } from "../../../contracts/token-store.ts";
import type { DatabaseKind } from "../../../support/databases/fresh-database.ts";
import { aRole } from "../../../support/databases/role.ts";
import { aDatabase } from "../ledger/ledger-database.ts";
import {
  aPreparedPlace,
  aTokenPlace,
  EXISTING,
  NOT_TAKEN,
  OWN,
  removeTokens,
  writeTokens,
} from "./token-place.ts";

const kind = inject("databaseKind");

type Triggers = (options: TokenTableOptions) => readonly string[];

/** None of them raises an error. */
const TRIGGERS: Readonly<Record<DatabaseKind, { readonly divert: Triggers; readonly keep: Triggers }>> = {
  postgres: {
    divert: ({ table, tokenColumn }) => [
      "CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
      `CREATE TRIGGER divert BEFORE INSERT OR UPDATE ON ${table} FOR EACH ROW
       WHEN (NEW.${tokenColumn} = 'token-b') EXECUTE FUNCTION skip()`,
    ],
    keep: ({ table, idColumn }) => [
      "CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
      `CREATE TRIGGER keep BEFORE UPDATE OR DELETE ON ${table} FOR EACH ROW
       WHEN (OLD.${idColumn} = 'b') EXECUTE FUNCTION skip()`,
    ],
  },
  mysql: {
    divert: ({ table, tokenColumn }) =>
      ["INSERT", "UPDATE"].map(
        (event) => `CREATE TRIGGER divert_${event} BEFORE ${event} ON ${table} FOR EACH ROW
          IF NEW.${tokenColumn} = 'token-b' THEN SET NEW.${tokenColumn} = 'token-x'; END IF`,
      ),
    keep: ({ table, idColumn, tokenColumn }) => [
      `CREATE TRIGGER keep BEFORE UPDATE ON ${table} FOR EACH ROW
       IF OLD.${idColumn} = 'b' THEN SET NEW.${tokenColumn} = OLD.${tokenColumn}; END IF`,
    ],
  },
};
const { divert, keep } = TRIGGERS[kind];

test.each([OWN, EXISTING])(
  "a token that a trigger drops, or puts another in the place of, is not taken for stored: $rows rows",
  async (options) => {
    const place = await aPreparedPlace(options);
    for (const statement of divert(options)) await place.tokens.query(statement);
    const refused = await writeTokens(place, { a: "token-a", b: "token-b" });
    expect([...refused]).toEqual([["b", expect.objectContaining(NOT_TAKEN)]]);
    const { a, b = null } = await place.stored();
    expect([a, b]).toEqual(["token-a", kind === "postgres" ? null : "token-x"]);
  },
);

test.each([OWN, EXISTING])(
  "a token that a trigger keeps the old one in the place of is not taken for stored: $rows rows",
  async (options) => {
    const place = await aPreparedPlace(options);
    const all = { a: "token-a", b: "token-b" };
    await writeTokens(place, all);
    for (const statement of keep(options)) await place.tokens.query(statement);
    const refused = await writeTokens(place, { a: "token-a2", b: "token-b2" });
    expect([...refused]).toEqual([["b", expect.objectContaining(NOT_TAKEN)]]);
    expect(await place.stored()).toMatchObject({ a: "token-a2", b: "token-b" });
    expect(await writeTokens(place, all)).toEqual(new Map());
    if (kind !== "postgres") return;
    const again = await writeTokens(place, all, { rewrite: true });
    expect([...again]).toEqual([["b", expect.objectContaining(NOT_TAKEN)]]);
    expect(await place.stored()).toMatchObject(all);
  },
);

// In MySQL a trigger can't keep a row from being deleted without an error.
test.each(kind === "postgres" ? [OWN, EXISTING] : [EXISTING])(
  "a token that a trigger keeps without a word is not taken for removed: $rows rows",
  async (options) => {
    const place = await aPreparedPlace(options);
    await writeTokens(place, { a: "token-a", b: "token-b" });
    for (const statement of keep(options)) await place.tokens.query(statement);
    const refused = await removeTokens(place, ["a", "b"]);
    expect([...refused]).toEqual([
      [
        "b",
        expect.objectContaining({
          code: "TOKEN_NOT_REMOVED",
          message: `${options.table} keeps the token of the row whose ${options.idColumn} is "b", and raised no error`,
          hint: expect.stringContaining("triggers"),
        }),
      ],
    ]);
    const { a = null, b } = await place.stored();
    expect([a, b]).toEqual([null, "token-b"]);
  },
);

if (kind === "postgres") {
  // RETURNING tells the token that was to be written.
  test.each([OWN, EXISTING])(
    "a token that a trigger takes back after the write is not taken for stored: $rows rows",
    async (options) => {
      const { table, idColumn, tokenColumn } = options;
      const place = await aPreparedPlace(options);
      await writeTokens(place, { a: "token-a", b: "token-b" });
      await place.tokens.query(
        `CREATE FUNCTION take_back() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
           UPDATE ${table} SET ${tokenColumn} = OLD.${tokenColumn} WHERE ${idColumn} = OLD.${idColumn};
           RETURN NULL;
         END $$`,
      );
      await place.tokens.query(
        `CREATE TRIGGER take_back AFTER UPDATE ON ${table} FOR EACH ROW
         WHEN (OLD.${idColumn} = 'b' AND pg_trigger_depth() = 0) EXECUTE FUNCTION take_back()`,
      );
      const refused = await writeTokens(place, { a: "token-a2", b: "token-b2" });
      expect([...refused]).toEqual([["b", expect.objectContaining(NOT_TAKEN)]]);
      expect(await place.stored()).toMatchObject({ a: "token-a2", b: "token-b" });
      for (const token of someTokens({ a: "token-a3", b: "token-b3" }))
        expect(await place.beside?.writeAtOnce(token)).toBe(token.user_group_id === "a");
    },
  );

  test("a token that a view's trigger doesn't write is not taken for stored", async () => {
    const place = await aPreparedPlace(EXISTING);
    await place.tokens.query("ALTER TABLE customers RENAME TO all_customers");
    await place.tokens.query("CREATE VIEW customers AS SELECT * FROM all_customers");
    await place.tokens.query(
      "CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
    );
    await place.tokens.query(
      "CREATE TRIGGER forget INSTEAD OF UPDATE ON customers FOR EACH ROW EXECUTE FUNCTION forget()",
    );
    const refused = await writeTokens(place, { a: "token-a" });
    expect([...refused]).toEqual([["a", expect.objectContaining(NOT_TAKEN)]]);
  });

  test("a token whose row a policy lets be seen and not be changed is not taken for stored", async () => {
    const { tokens, write } = await aTokenPlace(EXISTING, "elsewhere");
    const { name, url } = await aRole(tokens);
    await tokens.query(`GRANT SELECT, UPDATE ON customers TO ${name}`);
    await tokens.query("ALTER TABLE customers ENABLE ROW LEVEL SECURITY");
    await tokens.query("CREATE POLICY seen ON customers FOR SELECT USING (true)");
    await tokens.query("CREATE POLICY changed ON customers FOR UPDATE USING (id <> 'b')");
    const store = new SqlTokenTable(aDatabase(url), EXISTING);
    await store.prepare();
    const refused = await writeTokens({ store, write }, { a: "token-a", b: "token-b" });
    expect([...refused]).toEqual([["b", expect.objectContaining(NOT_TAKEN)]]);
  });
}
