import { expect, test } from "vitest";
import { SqlTokenTable } from "../../../../src/adapters/sql/tokens/token-table.ts";
import { aRole } from "../../../support/databases/role.ts";
import { aDatabase } from "../../sql/ledger/ledger-database.ts";
import {
  aPreparedPlace,
  aTokenPlace,
  EXISTING,
  NOT_TAKEN,
  OWN,
  removeTokens,
  writeTokens,
} from "../../sql/tokens/token-place.ts";

const SKIP = `CREATE FUNCTION skip_b() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN IF row_to_json(NEW)::text LIKE '%token-b%' THEN RETURN NULL; END IF; RETURN NEW; END $$`;

test.each([OWN, EXISTING])(
  "a token that a trigger drops without a word is not taken for stored: $rows rows",
  async (options) => {
    const place = await aPreparedPlace(options);
    await place.tokens.query(SKIP);
    await place.tokens.query(
      `CREATE TRIGGER skip_b BEFORE INSERT OR UPDATE ON ${options.table} FOR EACH ROW EXECUTE FUNCTION skip_b()`,
    );
    const refused = await writeTokens(place, { a: "token-a", b: "token-b" });
    expect([...refused]).toEqual([["b", expect.objectContaining(NOT_TAKEN)]]);
    expect(await place.stored()).toMatchObject({ a: "token-a" });
  },
);

test.each([OWN, EXISTING])(
  "a token that is there and has to be written again is not taken for written, where a trigger drops it: $rows rows",
  async (options) => {
    const place = await aPreparedPlace(options);
    const all = { a: "token-a", b: "token-b" };
    await writeTokens(place, all);
    await place.tokens.query(SKIP);
    await place.tokens.query(
      `CREATE TRIGGER skip_b BEFORE UPDATE ON ${options.table} FOR EACH ROW EXECUTE FUNCTION skip_b()`,
    );
    expect(await writeTokens(place, all)).toEqual(new Map());
    const refused = await writeTokens(place, all, { rewrite: true });
    expect([...refused]).toEqual([["b", expect.objectContaining(NOT_TAKEN)]]);
    expect(await place.stored()).toMatchObject(all);
  },
);

test.each([OWN, EXISTING])(
  "a token that a trigger keeps without a word is not taken for removed: $rows rows",
  async (options) => {
    const place = await aPreparedPlace(options);
    await writeTokens(place, { a: "token-a", b: "token-b" });
    await place.tokens.query(
      "CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$",
    );
    await place.tokens.query(
      `CREATE TRIGGER skip BEFORE UPDATE OR DELETE ON ${options.table} FOR EACH ROW
       WHEN (OLD.${options.idColumn} = 'b') EXECUTE FUNCTION skip()`,
    );
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
    const { a, b } = await place.stored();
    expect([a ?? null, b]).toEqual([null, "token-b"]);
  },
);

test("nor is one whose row a policy lets be seen and not be changed", async () => {
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
