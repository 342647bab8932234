import { expect, inject, test } from "vitest";
import { SqlTokenTable } from "../../../../src/adapters/sql/tokens/token-table.ts";
import { tokenFingerprint } from "../../../../src/core/group/group.ts";
import { someTokens } from "../../../contracts/token-store.ts";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";
import { encodedDatabase } from "../../postgres/encoded-database.ts";
import { aDatabase } from "../ledger/ledger-database.ts";
import { EXISTING, OWN, removeTokens, writeTokens } from "./token-place.ts";

const kind = inject("databaseKind");

const latin1Url = async (): Promise<string> =>
  kind === "postgres" ? encodedDatabase("LATIN1") : (await freshDatabase(kind)).url;

const PLACES = [
  [EXISTING, "id varchar(50) %s PRIMARY KEY, dashboard_token text %s"],
  [OWN, "user_group_id varchar(50) %s PRIMARY KEY, token text %s NOT NULL, updated_at timestamptz"],
] as const;

// MySQL and MariaDB refuse such an own table as a whole: its collation takes different ids for one.
test.each(kind === "postgres" ? PLACES : PLACES.slice(0, 1))(
  "an id that the encoding of the table lacks costs that tenant alone: $rows rows",
  async (options, columns) => {
    const database = aDatabase(await latin1Url());
    const charset = kind === "postgres" ? "" : "CHARACTER SET latin1";
    const { table, idColumn } = options;
    await database.byRolesPath.write(`CREATE TABLE ${table} (${columns.replaceAll("%s", charset)})`);
    if (options === EXISTING)
      await database.byRolesPath.write(`INSERT INTO ${table} (${idColumn}) VALUES ('a'), ('é'), ('?')`);
    const store = new SqlTokenTable(database, options);
    await store.prepare();
    const tokens = { a: "token-a", Ω: "token-Ω", é: "token-é" };
    const wanted = someTokens({ ...tokens, "😀": "token-smile" });
    const ids = wanted.map(({ user_group_id }) => user_group_id);

    for (const rewrite of [false, true]) {
      const refused = await writeTokens({ store }, { ...tokens, "😀": "token-smile" }, { rewrite });
      expect([...refused.keys()].sort()).toEqual(["Ω", "😀"]);
      for (const error of refused.values()) expect(error).toMatchObject({ code: "TOKEN_NOT_STORED" });
      expect([...(await store.read(ids)).keys()].sort()).toEqual(["a", "é"]);
    }
    const expected = new Map(wanted.map(({ user_group_id: id, token }) => [id, tokenFingerprint(token)]));
    expect([...(await store.lagging(expected)).keys()].sort()).toEqual(["Ω", "😀"]);
    expect(await removeTokens({ store }, ids)).toEqual(new Map());
    expect(await store.destinations[0]?.holdsAny()).toBe(false);
  },
);
