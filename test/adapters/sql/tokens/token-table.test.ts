import { describe, expect, inject, test } from "vitest";
import { anApply } from "../../../builders/groups.ts";
import { begun } from "../../../builders/records.ts";
import { someTokens, tokenStoreContract } from "../../../contracts/token-store.ts";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";
import { aDatabase } from "../ledger/ledger-database.ts";
import { aPreparedPlace, aTokenPlace, aTokenTable, EXISTING, OWN, writeTokens } from "./token-place.ts";

const kind = inject("databaseKind");

tokenStoreContract(`${kind}, own rows`, (ids) => aTokenPlace(OWN, "with the ledger", ids));
tokenStoreContract(`${kind}, existing rows`, (ids) => aTokenPlace(EXISTING, "with the ledger", ids));
// Elsewhere each token is a transaction of its own, of the same statements.
tokenStoreContract(`${kind}, own rows, elsewhere`, (ids) => aTokenPlace(OWN, "elsewhere", ids), {
  many: 200,
});

describe("own rows", () => {
  test.each([false, true])(
    "a row keeps its updated_at if its token is the same (rewrite: %s)",
    async (rewrite) => {
      const place = await aPreparedPlace(OWN);
      await writeTokens(place, { a: "token-a", b: "token-b" });
      await place.tokens.query("UPDATE groupsync_tokens SET updated_at = '2001-01-01'");
      await writeTokens(place, { a: "token-a", b: "token-b2" }, { rewrite });
      const updated = await place.tokens.query(
        "SELECT user_group_id FROM groupsync_tokens WHERE updated_at <> '2001-01-01'",
      );
      expect(updated).toEqual([{ user_group_id: "b" }]);
    },
  );

  test("a row has the time of its token, in UTC", async () => {
    const place = await aPreparedPlace(OWN);
    const before = Date.now();
    await writeTokens(place, { a: "token-a" });
    const [row] = await place.tokens.query<{ updated_at: Date }>("SELECT updated_at FROM groupsync_tokens");
    // The server's clock is this host's.
    expect(row?.updated_at.getTime()).toBeGreaterThan(before - 60_000);
    expect(row?.updated_at.getTime()).toBeLessThan(Date.now() + 60_000);
  });

  test("odd names are quoted", async () => {
    const { url, query, name } = await freshDatabase();
    const schema = kind === "postgres" ? "Ops Team" : name;
    if (kind === "postgres") await query('CREATE SCHEMA "Ops Team"');
    const place = await aTokenTable(aDatabase(url), {
      table: `"${schema}"."The ""Tok\`ens"""`,
      rows: "own",
      idColumn: "Group ID",
      tokenColumn: "select",
    });
    await place.store.prepare();
    await writeTokens(place, { a: "token-a" });
    expect(await query(`SELECT "Group ID", "select" FROM "${schema}"."The ""Tok\`ens"""`)).toEqual([
      { "Group ID": "a", select: "token-a" },
    ]);
  });
});

test("a refused token doesn't undo what the ledger's transaction did", async () => {
  const place = await aPreparedPlace(OWN);
  await place.refuseSome();
  await place.write(async (transaction) => {
    await transaction.change([begun(anApply())], new Date());
    await place.store.write(someTokens({ acme: "refused" }), transaction);
  });
  expect(await place.tokens.query("SELECT user_group_id FROM groupsync_groups")).toEqual([
    { user_group_id: "acme" },
  ]);
});
