import { expect, test } from "vitest";
import { MIGRATIONS } from "../../../src/adapters/mysql/ledger-migrations.ts";
import { LATEST_VERSION } from "../../../src/adapters/sql/ledger-schema.ts";
import { ledgerDatabase } from "../sql/ledger-database.ts";

test("the migrations lead to the version that the statements are written for", () => {
  expect(MIGRATIONS.at(-1)?.version).toBe(LATEST_VERSION);
});

test("a migration that died between two tables is done again", async () => {
  const database = await ledgerDatabase("mysql");
  await database.ledger().prepare();
  const tables = await database.tables();
  await database.query("DROP TABLE groupsync_runs, groupsync_removals");
  await database.query("DELETE FROM groupsync_migrations");
  await database.ledger().prepare();
  expect(await database.tables()).toEqual(tables);
  expect(await database.query("SELECT version FROM groupsync_migrations")).toEqual([
    { version: LATEST_VERSION },
  ]);
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
