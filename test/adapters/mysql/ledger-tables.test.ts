import { expect, test } from "vitest";
import { mysql } from "../../../src/adapters/mysql/dialect.ts";
import { createLedger } from "../../../src/adapters/mysql/ledger-tables.ts";
import type { Connections } from "../../../src/adapters/sql/connection/connections.ts";
import { LEDGER_VERSION, ledgerTables } from "../../../src/adapters/sql/dialect/ledger-tables.ts";
import { PROCESS_LIST } from "../../support/mysql/mysql-server.ts";
import { aDatabase, LOCATION, ledgerDatabase } from "../sql/ledger/ledger-database.ts";

/** Calls `act` after each statement of the database's transactions. */
function inBetween(database: Connections, act: (text: string) => Promise<void>): Connections {
  return {
    ...database,
    transaction: (begin, body, limits) =>
      database.transaction(
        begin,
        (connection, begun) => {
          const query: typeof connection.query = async (text, values) => {
            const rows = await connection.query<never>(text, values);
            await act(text);
            return rows;
          };
          return body({ ...connection, query }, begun);
        },
        limits,
      ),
  };
}

test("a migration that died between two tables is done again", async () => {
  const database = await ledgerDatabase("mysql");
  await database.ledger().prepare();
  const tables = await database.tables();
  await database.query("DROP TABLE groupsync_runs, groupsync_removals");
  await database.query("DELETE FROM groupsync_migrations");
  await database.query("DELETE FROM groupsync_identity");
  await database.ledger().prepare();
  expect(await database.tables()).toEqual(tables);
  expect(await database.query("SELECT version FROM groupsync_migrations")).toEqual([
    { version: LEDGER_VERSION },
  ]);
});

test("a migration that another node was quicker with changes no row again", async () => {
  const at = await ledgerDatabase("mysql");
  const quicker = inBetween(aDatabase(at.url, "mysql"), async (text) => {
    if (text !== "START TRANSACTION") return;
    await at.query("INSERT INTO groupsync_identity (id) VALUES ('the other node gave it')");
    await at.query("INSERT INTO groupsync_migrations (version, applied_at) VALUES ($1, now())", [
      LEDGER_VERSION,
    ]);
  });
  await createLedger(quicker, ledgerTables(mysql, LOCATION), LOCATION);
  expect(await at.query("SELECT id FROM groupsync_identity")).toEqual([{ id: "the other node gave it" }]);
});

test("a migration that the server interrupts for another node's goes on to the latest version", async () => {
  const at = await ledgerDatabase("mysql");
  let isInterrupted = false;
  const interrupted = inBetween(aDatabase(at.url, "mysql"), async (text) => {
    if (!text.includes("hand_over_ms") || isInterrupted) return;
    isInterrupted = true;
    throw Object.assign(new Error("Query execution was interrupted"), { errno: 1317, sqlState: "70100" });
  });
  await createLedger(interrupted, ledgerTables(mysql, LOCATION), LOCATION);
  expect(isInterrupted).toBe(true);
  expect(await at.query("SELECT version FROM groupsync_migrations")).toEqual([{ version: LEDGER_VERSION }]);
});

test("a migration gives back its named lock, though its connection stays open", async () => {
  const { ledger, query } = await ledgerDatabase("mysql");
  await ledger().prepare();
  const sessions = `SELECT id FROM ${PROCESS_LIST} WHERE db = database() AND id <> connection_id()`;
  expect(await query(sessions)).not.toEqual([]);
  // The lock has one name on the whole server.
  expect(await query(`${sessions} AND id = is_used_lock($1)`, [`groupsync ${LOCATION.tablePrefix}`])).toEqual(
    [],
  );
});

test("the tables compare texts by their bytes and can be rolled back, whatever the server's defaults are", async () => {
  const database = await ledgerDatabase("mysql");
  await database.query(`ALTER DATABASE ${database.name} CHARACTER SET latin1`);
  await database.ledger().prepare();
  const tables = await database.query(
    "SELECT DISTINCT engine AS engine, table_collation AS collation FROM information_schema.tables WHERE table_schema = database()",
  );
  expect(tables).toEqual([{ engine: "InnoDB", collation: "utf8mb4_bin" }]);
});
