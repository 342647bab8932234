import { describe, expect, inject, test } from "vitest";
import { anApply } from "../../../builders/groups.ts";
import { begun } from "../../../builders/records.ts";
import { aPreparedPlace, aTokenPlace, EXISTING, OWN, removeTokens, writeTokens } from "./token-place.ts";

const DATABASES = {
  postgres: {
    setNotNull: "ALTER TABLE customers ALTER dashboard_token SET NOT NULL",
    dropNotNull: "ALTER TABLE customers ALTER dashboard_token DROP NOT NULL",
  },
  mysql: {
    setNotNull: "ALTER TABLE customers MODIFY dashboard_token text NOT NULL",
    dropNotNull: "ALTER TABLE customers MODIFY dashboard_token text NULL",
  },
};
const database = DATABASES[inject("databaseKind")];

describe("own rows", () => {
  test("a removed token's row is gone, even if somebody has emptied its token", async () => {
    const place = await aPreparedPlace(OWN);
    await writeTokens(place, { a: "token-a", b: "token-b", c: "token-c" });
    await place.tokens.query("UPDATE groupsync_tokens SET token = '' WHERE user_group_id = 'b'");
    expect([...(await place.store.read(["a", "b"])).keys()]).toEqual(["a"]);
    expect(await removeTokens(place, ["a", "b"])).toEqual(new Map());
    expect(await place.stored()).toEqual({ c: "token-c" });
  });

  test("a row that another table refers to keeps that tenant's token alone", async () => {
    const place = await aPreparedPlace(OWN);
    await writeTokens(place, { a: "token-a", b: "token-b" });
    await place.tokens.query(
      inject("databaseKind") === "postgres"
        ? "CREATE TABLE logins (user_group_id text REFERENCES groupsync_tokens)"
        : `CREATE TABLE logins LIKE groupsync_tokens;
           ALTER TABLE logins DROP COLUMN token, DROP COLUMN updated_at,
             ADD FOREIGN KEY (user_group_id) REFERENCES groupsync_tokens (user_group_id)`,
    );
    await place.tokens.query("INSERT INTO logins VALUES ('a')");
    expect([...(await removeTokens(place, ["a", "b"]))]).toEqual([
      [
        "a",
        expect.objectContaining({
          code: "TOKEN_NOT_REMOVED",
          message: expect.stringContaining('keeps the token of the row whose user_group_id is "a"'),
          hint: expect.stringContaining("foreign keys"),
        }),
      ],
    ]);
    expect(await place.stored()).toEqual({ a: "token-a" });
  });
});

describe("existing rows", () => {
  test("a removed token leaves the rest of its row as it is", async () => {
    const place = await aTokenPlace(EXISTING, "elsewhere");
    await place.store.prepare();
    await place.tokens.query("ALTER TABLE customers ADD COLUMN name varchar(10) NOT NULL DEFAULT 'Acme'");
    await writeTokens(place, { a: "token-a" });
    await removeTokens(place, ["a"]);
    expect(await place.tokens.query("SELECT * FROM customers WHERE id = 'a'")).toEqual([
      { id: "a", dashboard_token: null, name: "Acme" },
    ]);
  });

  test("a column that takes no NULL keeps its tokens until it takes NULL", async () => {
    const place = await aPreparedPlace(EXISTING);
    await writeTokens(place, { a: "token-a", b: "token-b", c: "token-c", d: "token-d" });
    await place.tokens.query(database.setNotNull);
    const refused = await removeTokens(place, ["a", "b"]);
    expect([...refused.keys()]).toEqual(["a", "b"]);
    expect(refused.get("a")).toMatchObject({
      code: "TOKEN_NOT_REMOVED",
      message: expect.stringMatching(
        /^customers keeps the token of the row whose id is "a": .*(not-null|cannot be null)/,
      ),
      hint: expect.stringContaining("the constraints of column dashboard_token: it has to take NULL"),
    });
    await place.tokens.query(database.dropNotNull);
    expect(await removeTokens(place, ["a", "b"])).toEqual(new Map());
    expect(await place.stored()).toEqual({ a: null, b: null, c: "token-c", d: "token-d" });
  });

  test("an empty text is no token", async () => {
    const place = await aTokenPlace(EXISTING, "with the ledger");
    await place.tokens.query("UPDATE customers SET dashboard_token = ''");
    await place.tokens.query(database.setNotNull);
    await place.store.prepare();
    expect(await place.store.destinations[0]?.holdsAny()).toBe(false);
    expect(await place.store.read(["a"])).toEqual(new Map());
    expect(await removeTokens(place, ["a"])).toEqual(new Map());
  });
});

test("a token that can't be removed doesn't undo what the ledger's transaction did", async () => {
  const place = await aPreparedPlace(OWN);
  await writeTokens(place, { acme: "kept", other: "token" });
  await place.keepSome();
  await place.write(async (transaction) => {
    await transaction.change([begun(anApply())], new Date());
    await place.store.remove(["other", "acme"], transaction);
  });
  expect(await place.tokens.query("SELECT user_group_id FROM groupsync_groups")).toEqual([
    { user_group_id: "acme" },
  ]);
  expect(await place.stored()).toEqual({ acme: "kept" });
});
