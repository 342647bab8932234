import { describe, expect, test } from "vitest";
import type { SyncError } from "../../../src/core/errors.ts";
import { anApply } from "../../builders/groups.ts";
import { rejection } from "../../contracts/collect.ts";
import { everythingIn } from "../../contracts/everything-in.ts";
import { someTokens } from "../../contracts/token-store.ts";
import { aTokenPlace, EXISTING, OWN, type PostgresTokenPlace } from "./token-place.ts";

const write = (
  { store, write }: PostgresTokenPlace,
  tokens: Readonly<Record<string, string>>,
): Promise<ReadonlyMap<string, SyncError>> =>
  write((transaction) => store.write(someTokens(tokens), transaction));

const remove = (
  { store, write }: PostgresTokenPlace,
  ids: readonly string[],
): Promise<ReadonlyMap<string, SyncError>> => write((transaction) => store.remove(ids, transaction));

describe("own rows", () => {
  test("a removed token's row is gone, also one that somebody has emptied", async () => {
    const place = await aTokenPlace(OWN, "with the ledger");
    await place.store.prepare();
    await write(place, { a: "token-a", b: "token-b", c: "token-c" });
    await place.tokens.query("UPDATE groupsync_tokens SET token = '' WHERE user_group_id = 'b'");
    expect([...(await place.store.read(["a", "b"])).keys()]).toEqual(["a"]);
    expect(await remove(place, ["a", "b"])).toEqual(new Map());
    expect(await place.stored()).toEqual({ c: "token-c" });
  });

  test("a row that another table refers to costs that tenant alone", async () => {
    const place = await aTokenPlace(OWN, "with the ledger");
    await place.store.prepare();
    await write(place, { a: "token-a", b: "token-b" });
    await place.tokens.query("CREATE TABLE logins (user_group_id text REFERENCES groupsync_tokens)");
    await place.tokens.query("INSERT INTO logins VALUES ('a')");
    expect([...(await remove(place, ["a", "b"]))]).toEqual([
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
    await place.tokens.query("ALTER TABLE customers ADD COLUMN name text NOT NULL DEFAULT 'Acme'");
    await write(place, { a: "token-a" });
    await remove(place, ["a"]);
    expect(await place.tokens.query("SELECT * FROM customers WHERE id = 'a'")).toEqual([
      { id: "a", dashboard_token: null, name: "Acme" },
    ]);
  });

  test("a column that takes no NULL keeps its tokens, until the statement in the hint is run", async () => {
    const place = await aTokenPlace(EXISTING, "with the ledger");
    await place.store.prepare();
    await write(place, { a: "token-a", b: "token-b", c: "token-c", d: "token-d" });
    await place.tokens.query("ALTER TABLE customers ALTER dashboard_token SET NOT NULL");
    const refused = await remove(place, ["a", "b"]);
    expect([...refused.keys()]).toEqual(["a", "b"]);
    const error = refused.get("a");
    expect(error).toMatchObject({
      code: "TOKEN_NOT_REMOVED",
      message: expect.stringMatching(/^customers keeps the token of the row whose id is "a": .*not-null/),
      hint: 'ALTER TABLE "customers" ALTER COLUMN "dashboard_token" DROP NOT NULL',
    });
    await place.tokens.query(error?.hint ?? "");
    expect(await remove(place, ["a", "b"])).toEqual(new Map());
    expect(await place.stored()).toEqual({ a: null, b: null, c: "token-c", d: "token-d" });
  });

  test.each([
    [
      "another column that takes no NULL",
      "ALTER TABLE customers ADD COLUMN copy text GENERATED ALWAYS AS (coalesce(dashboard_token, nullif(id, 'a'))) STORED NOT NULL",
    ],
    [
      "a trigger that names the column",
      `CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE 'still needed' USING COLUMN = 'dashboard_token'; END $$;
       CREATE TRIGGER keep BEFORE UPDATE ON customers FOR EACH ROW EXECUTE FUNCTION keep()`,
    ],
  ])("%s is not mistaken for it", async (_, sql) => {
    const place = await aTokenPlace(EXISTING, "with the ledger");
    await place.store.prepare();
    await write(place, { a: "token-a" });
    await place.tokens.query(sql);
    expect((await remove(place, ["a"])).get("a")?.hint).toContain("look at the triggers of customers");
  });

  test("an empty text is no token", async () => {
    const place = await aTokenPlace(EXISTING, "with the ledger");
    await place.tokens.query("UPDATE customers SET dashboard_token = ''");
    await place.tokens.query("ALTER TABLE customers ALTER dashboard_token SET NOT NULL");
    await place.store.prepare();
    expect(await place.store.holdsAny()).toBe(false);
    expect(await place.store.read(["a"])).toEqual(new Map());
    expect(await remove(place, ["a"])).toEqual(new Map());
  });
});

test("a token that can't be removed doesn't undo what the ledger's transaction did", async () => {
  const place = await aTokenPlace(OWN, "with the ledger");
  await place.store.prepare();
  await write(place, { acme: "kept", other: "token" });
  await place.keepSome();
  await place.write(async (transaction) => {
    await transaction.begin([anApply()], new Date());
    await place.store.remove(["other", "acme"], transaction);
  });
  expect(await place.tokens.query("SELECT user_group_id FROM groupsync_groups")).toEqual([
    { user_group_id: "acme" },
  ]);
  expect(await place.stored()).toEqual({ acme: "kept" });
});

test("an error about the removal as a whole tells nothing of the tokens", async () => {
  const place = await aTokenPlace(EXISTING, "with the ledger");
  await place.store.prepare();
  await write(place, { a: "token-secretvalue" });
  await place.tokens.query(
    `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN RAISE 'not %', upper(OLD.dashboard_token) USING ERRCODE = 'XX000'; END $$`,
  );
  await place.tokens.query(
    "CREATE TRIGGER refuse BEFORE UPDATE ON customers FOR EACH ROW EXECUTE FUNCTION refuse()",
  );
  const error = await rejection(remove(place, ["a"]));
  expect(error).toMatchObject({ code: "TOKEN_STORE_UNAVAILABLE" });
  expect(everythingIn(error).toLowerCase()).not.toContain("secretvalue");
});
