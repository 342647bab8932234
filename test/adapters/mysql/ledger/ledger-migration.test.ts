import { expect, test } from "vitest";
import { mysql } from "../../../../src/adapters/mysql/dialect.ts";
import { migrateLedger } from "../../../../src/adapters/mysql/ledger/ledger-migration.ts";
import { MIGRATIONS } from "../../../../src/adapters/mysql/ledger/ledger-migrations.ts";
import type { Connections } from "../../../../src/adapters/sql/connection/connections.ts";
import { ledgerTables } from "../../../../src/adapters/sql/dialect/ledger-tables.ts";
import { LATEST_VERSION } from "../../../../src/adapters/sql/ledger/scope.ts";
import { type LedgerDatabase, opened } from "../../../contracts/ledger/rig.ts";
import type { FreshDatabase } from "../../../support/databases/fresh-database.ts";
import { PROCESS_LIST } from "../../../support/mysql/mysql-server.ts";
import { aDatabase, LOCATION, ledgerDatabase } from "../../sql/ledger/ledger-database.ts";

const statementsOf = ({ definitions, rows }: (typeof MIGRATIONS)[number]): readonly string[] => {
  const tables = ledgerTables(mysql, LOCATION);
  return [...definitions(tables), ...(rows?.(tables) ?? [])];
};

/** A ledger's tables as this version made them, with what this statement puts into them. */
async function aLedgerOfVersion(version: number, sql: string): Promise<LedgerDatabase & FreshDatabase> {
  const database = await ledgerDatabase("mysql");
  await database.query(
    "CREATE TABLE groupsync_migrations (version INT NOT NULL PRIMARY KEY, applied_at DATETIME(6) NOT NULL)",
  );
  for (const migration of MIGRATIONS.filter((each) => each.version <= version))
    for (const statement of statementsOf(migration)) await database.query(statement);
  await database.setVersion(version);
  await database.query(sql);
  return database;
}

/** With a group at rest, one that is failing, and a lease of another scope that has expired. */
async function aLedgerOfVersion3(): Promise<LedgerDatabase & FreshDatabase> {
  const database = await aLedgerOfVersion(
    3,
    `INSERT INTO groupsync_groups (scope, user_group_id, bucket, failure_fingerprint, failure_code, failure_message,
      failure_count, retry_at, created_at, updated_at) VALUES
    ('default', 'at rest', 7, NULL, NULL, NULL, 0, NULL, '2026-01-01', '2026-01-02'),
    ('default', 'failing', 7, 'g', 'REFUSED', 'no', 2, '2026-03-01', '2026-01-01', '2026-02-01')`,
  );
  await database.query(
    `INSERT INTO groupsync_leases (scope, epoch, holder, acquired_at, expires_at) VALUES
    ('another, whose lease has expired', 3, 'gone', '2025-01-01', '2025-01-02')`,
  );
  return database;
}

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
  await database.ledger().prepare();
  expect(await database.tables()).toEqual(tables);
  expect(await database.query("SELECT version FROM groupsync_migrations ORDER BY version")).toEqual(
    MIGRATIONS.map(({ version }) => ({ version })),
  );
});

test.each([1, 2, 3])("a migration that died after statement %i is done again", async (done) => {
  const database = await aLedgerOfVersion3();
  const migration = MIGRATIONS.filter(({ version }) => version === 4);
  const statements = migration.flatMap(statementsOf);
  for (const statement of statements.slice(0, done)) await database.query(statement);
  await opened(async () => database);
  expect((await database.view().status()).failing).toMatchObject([
    { user_group_id: "failing", since: new Date("2026-02-01T00:00:00Z") },
  ]);
});

test("a migration whose lease is lost between two statements makes the second no more", async () => {
  const at = await aLedgerOfVersion(
    10,
    `INSERT INTO groupsync_leases (scope, epoch, holder, acquired_at, expires_at) VALUES
    ('default', 3, 'me', '2026-01-01', '2026-01-02')`,
  );
  const losingTheLease = inBetween(aDatabase(at.url, "mysql"), async (text) => {
    if (text.startsWith("ALTER")) await at.query("UPDATE groupsync_leases SET epoch = 4");
  });
  const migrating = migrateLedger(losingTheLease, ledgerTables(mysql, LOCATION), LOCATION, {
    from: "an older version",
    ifHeld: "SELECT 1 FROM groupsync_leases WHERE epoch = 3 LOCK IN SHARE MODE",
  });
  await expect(migrating).rejects.toMatchObject({ code: "LEASE_LOST" });
  expect(await at.query("SHOW COLUMNS FROM groupsync_groups LIKE 'verified_at'")).toHaveLength(1);
  expect(await at.query("SHOW KEYS FROM groupsync_groups WHERE Key_name = 'verified_at'")).toEqual([]);
  expect(await at.query("SELECT version FROM groupsync_migrations")).toEqual([{ version: 10 }]);
});

test("a migration that another node was quicker with changes no row again, and leaves a new ledger to it", async () => {
  const at = await ledgerDatabase("mysql");
  const quicker = inBetween(aDatabase(at.url, "mysql"), async (text) => {
    if (text !== "START TRANSACTION") return;
    const [last] = await at.query("SELECT max(version) AS version FROM groupsync_migrations");
    if (last?.version !== 5) return;
    await at.query("INSERT INTO groupsync_identity (id) VALUES ('the other node gave it')");
    await at.query("INSERT INTO groupsync_migrations (version, applied_at) VALUES (6, now())");
  });
  await migrateLedger(quicker, ledgerTables(mysql, LOCATION), LOCATION, { from: "nothing" });
  expect(await at.query("SELECT id FROM groupsync_identity")).toEqual([{ id: "the other node gave it" }]);
  expect(await at.query("SELECT max(version) AS version FROM groupsync_migrations")).toEqual([
    { version: 6 },
  ]);
});

test("a migration that the server interrupts for another node's goes on to the latest version", async () => {
  const at = await ledgerDatabase("mysql");
  let interruptions = 0;
  const interrupted = inBetween(aDatabase(at.url, "mysql"), async (text) => {
    if (!text.includes("hand_over_epoch") || interruptions++ > 0) return;
    throw Object.assign(new Error("Query execution was interrupted"), { errno: 1317, sqlState: "70100" });
  });
  await migrateLedger(interrupted, ledgerTables(mysql, LOCATION), LOCATION, { from: "nothing" });
  expect(interruptions).toBe(1);
  const [last] = await at.query("SELECT max(version) AS version FROM groupsync_migrations");
  expect(last).toEqual({ version: LATEST_VERSION });
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

test("a migration that fails leaves the version as it was", async () => {
  const database = await aLedgerOfVersion3();
  await database.query("DROP TABLE groupsync_runs");
  await expect(opened(async () => database)).rejects.toMatchObject({
    code: "LEDGER_UNAVAILABLE",
    message: expect.stringContaining("groupsync_runs"),
  });
  expect(await database.query("SELECT version FROM groupsync_migrations")).toEqual([{ version: 3 }]);
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
