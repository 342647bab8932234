import { describe, expect, test } from "vitest";
import type { Queryable } from "../../../../src/adapters/sql/connection/connections.ts";
import type { Database } from "../../../../src/adapters/sql/dialect/database.ts";
import { someTokens } from "../../../contracts/token-store.ts";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";
import { aDatabase } from "../../sql/ledger/ledger-database.ts";
import { aTokenPlace, EXISTING, writeTokens } from "../../sql/tokens/token-place.ts";

const ROLES_OWN = '"$user", public';
const PINNED = "pg_catalog, pg_temp";

/** With one connection: whatever a session kept would show. */
const aConnection = async (): Promise<Database> =>
  aDatabase((await freshDatabase("postgres")).url, "postgres", { maxConnections: 1 });

async function pathOf(connection: Queryable): Promise<string | undefined> {
  const [row] = await connection.query<{ search_path: string }>("SHOW search_path");
  return row?.search_path;
}

describe("the search_path", () => {
  test("is pinned for a statement, unless it is about a customer's table", async () => {
    const database = await aConnection();
    expect(await pathOf(database)).toBe(PINNED);
    expect(await pathOf({ query: (...asked) => database.write(...asked) })).toBe(PINNED);
    expect(await pathOf(database.byRolesPath)).toBe(ROLES_OWN);
  });

  test("is pinned for a transaction, but within a savepoint", async () => {
    const database = await aConnection();
    const { begin, savepoint } = database.dialect;
    const paths = await database.transaction(begin.write, async (connection) => {
      const [before] = [await pathOf(connection), await connection.query(savepoint.open)];
      const [within] = [await pathOf(connection), await connection.query(savepoint.release)];
      const [after] = [await pathOf(connection), await connection.query(savepoint.open)];
      await connection.query("ROLLBACK TO SAVEPOINT groupsync");
      return { before, within, after, takenBack: await pathOf(connection) };
    });
    expect(paths).toEqual({ before: PINNED, within: ROLES_OWN, after: PINNED, takenBack: PINNED });
    expect(await pathOf(database.byRolesPath)).toBe(ROLES_OWN);
  });

  test("is the session's where a pooler has set one", async () => {
    const database = await aConnection();
    await database.byRolesPath.query("SET search_path = theirs, public");
    const { begin, savepoint } = database.dialect;
    const within = await database.transaction(begin.write, async (connection) => {
      await connection.query(savepoint.open);
      return pathOf(connection);
    });
    expect(within).toBe("theirs, public");
    expect(await pathOf(database.byRolesPath)).toBe("theirs, public");
  });

  test("is pinned for a stream, and the role's for one of a customer's table", async () => {
    const database = await aConnection();
    const read = async ({ stream }: Pick<Database, "stream">): Promise<unknown> => {
      const batches = stream.call(database, ["BEGIN"], "SELECT current_setting('search_path')", [], 1);
      for await (const [row] of batches) return row;
      return undefined;
    };
    expect(await read(database)).toEqual([PINNED]);
    expect(await read(database.byRolesPath)).toEqual([ROLES_OWN]);
  });
});

test.each(["with the ledger", "elsewhere"] as const)(
  "a customer's trigger finds what it names: tokens %s",
  async (where) => {
    const place = await aTokenPlace(EXISTING, where, ["a", "b"], "postgres");
    for (const statement of [
      "CREATE TABLE written (id text)",
      `CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
     'BEGIN INSERT INTO written VALUES (NEW.id); RETURN NEW; END'`,
      `CREATE TRIGGER note BEFORE UPDATE ON ${EXISTING.table} FOR EACH ROW EXECUTE FUNCTION note()`,
    ]) {
      await place.tokens.query(statement);
    }
    await place.store.prepare();
    expect(await writeTokens(place, { a: "token-of-a" })).toEqual(new Map());
    const [token] = someTokens({ b: "token-of-b" });
    if (token && place.storesAtOnce) expect(await place.writeAtOnce(token)).toBe(true);
    expect(await place.tokens.query("SELECT id FROM written ORDER BY id")).toEqual(
      place.storesAtOnce ? [{ id: "a" }, { id: "b" }] : [{ id: "a" }],
    );
  },
);
