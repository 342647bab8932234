import { expect, inject, test } from "vitest";
import { collect } from "../../../contracts/collect.ts";
import { everythingIn } from "../../../contracts/everything-in.ts";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";
import { isMariadb } from "../../../support/mysql/is-mariadb.ts";
import { aDatabase } from "../ledger/ledger-database.ts";
import {
  aPreparedPlace,
  aTokenPlace,
  aTokenTable,
  EXISTING,
  removeTokens,
  writeTokens,
} from "./token-place.ts";

const UUID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
const OTHER_UUIDS = [UUID.toUpperCase(), "a", UUID.replaceAll("-", "")];

const DATABASES = {
  postgres: {
    idTypes: [
      ["text", "a", ["A", "a "]],
      ["varchar(5)", "abcde", ["abcdef"]],
      ["char(5)", "a", ["b", "a "]],
      ["integer", "42", ["042", "42 ", "forty", "99999999999"]],
      ["bigint", "9223372036854775807", ["9223372036854775808"]],
      ["uuid", UUID, OTHER_UUIDS],
      ["citext", "Acme", ["acme"]],
    ],
    touch: [
      `CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN NEW.touched := OLD.touched + 1; RETURN NEW; END $$`,
      "CREATE TRIGGER touch BEFORE UPDATE ON customers FOR EACH ROW EXECUTE FUNCTION touch()",
    ],
    refusals: [
      ["a token too long for its column", ["ALTER TABLE customers ALTER dashboard_token TYPE varchar(7)"]],
      [
        "a key that another row's token is in the way of",
        [
          "UPDATE customers SET dashboard_token = 'token-secretvalue' WHERE id = 'c'",
          "ALTER TABLE customers ADD UNIQUE (dashboard_token)",
        ],
      ],
    ],
    spoil: "ALTER TABLE customers ALTER dashboard_token TYPE int USING NULL",
  },
  mysql: {
    idTypes: [
      ["text", "a", ["A", "a ", "ä"]],
      ["varchar(5)", "abcde", ["abcdef", "ABCDE"]],
      ["varchar(50) CHARACTER SET latin1", "é", ["e", "É", "é ", "日本", "?"]],
      ["varchar(50) CHARACTER SET utf16 COLLATE utf16_unicode_ci", "é😀", ["e😀", "é"]],
      ["varchar(50) COLLATE utf8mb4_bin", "a", ["a ", "A"]],
      ["char(5)", "a", ["b", "a ", "A"]],
      ["varbinary(50)", "é", ["e", "é\0", "É"]],
      ["int", "42", ["042", "42 ", "+42", "forty", "42.0", "99999999999", "2147483648", "-42"]],
      ["int", "0", ["forty", "", "-0", "00"]],
      ["int(5) unsigned zerofill", "42", ["00042", "-42"]],
      ["bigint", "-9223372036854775808", ["9223372036854775808", "18446744073709551616"]],
      ["bigint unsigned", "18446744073709551615", ["-1", "18446744073709551616"]],
      ["decimal(20)", "42", ["042", "forty", "42.0"]],
      ["uuid", UUID, OTHER_UUIDS],
    ],
    touch: ["CREATE TRIGGER touch BEFORE UPDATE ON customers FOR EACH ROW SET NEW.touched = OLD.touched + 1"],
    refusals: [
      ["a token too long for its column", ["ALTER TABLE customers MODIFY dashboard_token varchar(7)"]],
      [
        "a constraint that takes the token apart",
        [
          "ALTER TABLE customers ADD CHECK (substr(dashboard_token, 7) = 'a' OR cast(substr(dashboard_token, 7) AS date) > '2001-01-01')",
        ],
      ],
      [
        "a key that another row's token is in the way of",
        [
          "ALTER TABLE customers MODIFY dashboard_token varchar(50) UNIQUE",
          "UPDATE customers SET dashboard_token = 'token-secretvalue' WHERE id = 'c'",
        ],
      ],
    ],
    spoil: "ALTER TABLE customers DROP COLUMN dashboard_token",
  },
} as const;
const database = DATABASES[inject("databaseKind")];

test.for<readonly [type: string, id: string, others: readonly string[]]>(database.idTypes)(
  "%s ids are met to the letter: %j",
  async ([type, id, others], { skip }) => {
    const { kind, url, query } = await freshDatabase();
    if (type === "uuid" && kind === "mysql") skip(!(await isMariadb(query)), "MySQL has no type uuid");
    if (type === "citext") await query("CREATE EXTENSION citext");
    await query(`CREATE TABLE customers (id ${type} NOT NULL, dashboard_token text)`);
    await query("INSERT INTO customers (id) VALUES ($1)", [id]);
    const place = await aTokenTable(aDatabase(url), EXISTING);
    await place.store.prepare();

    const tokens = Object.fromEntries([id, ...others].map((key) => [key, `token-of-${key}`]));
    const refused = await writeTokens(place, tokens);
    expect([...refused.keys()].sort()).toEqual([...others].sort());
    for (const error of refused.values()) expect(error.code).toBe("TOKEN_NOT_STORED");
    const stored = () => query("SELECT dashboard_token AS token FROM customers");
    expect(await stored()).toEqual([{ token: `token-of-${id}` }]);

    const found = await place.store.read([...others, id]);
    expect([...found.keys()]).toEqual([id]);
    const listed = place.store.destinations.flatMap((destination) => destination.ids() ?? []);
    expect(await Promise.all(listed.map(collect))).toEqual([[id]]);
    expect(await removeTokens(place, others)).toEqual(new Map());
    expect(await stored()).toEqual([{ token: `token-of-${id}` }]);
    expect(await removeTokens(place, [...others, id])).toEqual(new Map());
    expect(await stored()).toEqual([{ token: null }]);
  },
);

test("a tenant without a row costs that tenant alone its token", async () => {
  const place = await aPreparedPlace(EXISTING);
  const refused = await writeTokens(place, { a: "token-a", gone: "token-gone" });
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

test("a row that already has the token is not written, so no trigger fires", async () => {
  const place = await aPreparedPlace(EXISTING);
  await writeTokens(place, { a: "token-a", b: "token-b" });
  await place.tokens.query("ALTER TABLE customers ADD COLUMN touched int NOT NULL DEFAULT 0");
  for (const statement of database.touch) await place.tokens.query(statement);
  await writeTokens(place, { a: "token-a", b: "token-b2" });
  expect(await place.tokens.query("SELECT id, touched FROM customers WHERE id <= 'b' ORDER BY id")).toEqual([
    { id: "a", touched: 0 },
    { id: "b", touched: 1 },
  ]);
});

test.each<readonly [what: string, statements: readonly string[]]>(database.refusals)(
  "%s costs one tenant, and tells nothing of the token",
  async (_, statements) => {
    const place = await aTokenPlace(EXISTING, "with the ledger");
    for (const statement of statements) await place.tokens.query(statement);
    await place.store.prepare();
    const refused = await writeTokens(place, { b: "token-secretvalue", a: "token-a" });
    expect([...refused.keys()]).toEqual(["b"]);
    expect(await place.stored()).toMatchObject({ a: "token-a", b: null });
    const told = everythingIn(refused.get("b")).toLowerCase();
    expect(told).toContain("customers refused the token");
    expect(told).not.toContain("secretvalue");
  },
);

test("a column that can take no token is the table's fault, and the error shows no token", async () => {
  const place = await aTokenPlace(EXISTING, "elsewhere");
  await place.store.prepare();
  await place.tokens.query(database.spoil);
  const error = await writeTokens(place, { a: "token-a" }).catch((thrown) => thrown);
  expect(error).toMatchObject({ code: "TOKEN_STORE_UNAVAILABLE" });
  expect(everythingIn(error)).not.toContain("token-a");
});
