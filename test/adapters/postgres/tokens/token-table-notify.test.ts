import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import type { StoredToken } from "../../../../src/ports/token-store.ts";
import { someTokens } from "../../../contracts/token-store.ts";
import type { FreshDatabase } from "../../../support/databases/fresh-database.ts";
import { aTokenPlace, EXISTING, OWN, writeTokens } from "../../sql/tokens/token-place.ts";

/** No name that PostgreSQL would take without quotes. */
const CHANNEL = 'It\'s "Tokens"';
const END = "the end";

/** Listens on a connection of its own. Resolves to what has come since it was asked last. */
async function listenTo({ url }: FreshDatabase): Promise<() => Promise<string[]>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  const heard: string[] = [];
  client.on("notification", ({ payload = "" }) => heard.push(payload));
  await client.query(`LISTEN ${client.escapeIdentifier(CHANNEL)}`);
  return async () => {
    // Notifications come in the order of their commits, and this one before its own statement has ended.
    await client.query("SELECT pg_notify($1, $2)", [CHANNEL, END]);
    expect(heard.at(-1)).toBe(END);
    return heard.splice(0).slice(0, -1);
  };
}

describe.each([OWN, EXISTING])("who listens to new tokens, $rows rows,", (options) => {
  async function aPlace(where: "with the ledger" | "elsewhere" = "with the ledger") {
    const place = await aTokenPlace({ ...options, notify: CHANNEL }, where);
    await place.store.prepare();
    return { place, heard: await listenTo(place.tokens) };
  }

  test.each(["with the ledger", "elsewhere"] as const)("hears once of each, %s", async (where) => {
    const { place, heard } = await aPlace(where);
    await writeTokens(place, { a: "token-a", b: "token-b" });
    expect((await heard()).sort()).toEqual(["a", "b"]);
    await writeTokens(place, { a: "token-a", b: "token-b2", c: "token-c" });
    expect((await heard()).sort()).toEqual(["b", "c"]);
  });

  test("hears once of a token that is stored at once", async () => {
    const { place, heard } = await aPlace();
    const [token] = someTokens({ a: "token-a" }) as [StoredToken];
    await place.beside?.writeAtOnce(token);
    expect(await heard()).toEqual(["a"]);
    await place.beside?.writeAtOnce(token);
    expect(await heard()).toEqual([]);
  });

  test("hears once of a token that is new where all are written again", async () => {
    const { place, heard } = await aPlace();
    await writeTokens(place, { a: "token-a", b: "token-b" });
    await heard();
    await writeTokens(place, { a: "token-a", b: "token-b2" }, { rewrite: true });
    expect(await heard()).toEqual(["b"]);
  });

  test("hears nothing before the commit, and nothing of what is undone", async () => {
    const { place, heard } = await aPlace();
    const undone = place.write(async (transaction) => {
      await place.store.write(someTokens({ a: "token-a" }), transaction);
      expect(await heard()).toEqual([]);
      throw new Error("before the commit");
    });
    await expect(undone).rejects.toThrow("before the commit");
    expect(await heard()).toEqual([]);
    await writeTokens(place, { a: "token-a" });
    expect(await heard()).toEqual(["a"]);
  });

  test("hears of those that are stored, and of none that are refused", async () => {
    const { place, heard } = await aPlace();
    await place.refuseSome();
    await writeTokens(place, { a: "token-a", b: "refused-b", c: "token-c" });
    expect((await heard()).sort()).toEqual(["a", "c"]);
  });
});
