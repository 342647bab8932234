import { SyncError } from "../../../core/failure/sync-error.ts";
import type { Connections } from "../../sql/connection/connections.ts";
import { MIGRATION } from "../../sql/connection/wait-limits.ts";
import type { LedgerMigration } from "../../sql/dialect/dialect.ts";
import type { LedgerLocation, LedgerTables } from "../../sql/dialect/ledger-tables.ts";
import { leaseLost } from "../../sql/ledger/schema.ts";
import { isDenied, isDoneAlready, isDuplicate } from "../connection/failures.ts";
import { identifiers } from "../connection/identifiers.ts";
import { currentAccount, rehearse } from "../connection/rights.ts";
import { MIGRATIONS, TABLE_OPTIONS } from "./ledger-migrations.ts";

/** In seconds: how long a program waits for another program that migrates the tables. */
const LONGEST_WAIT = 30;

/**
 * Brings the ledger's tables to the latest version. A statement that defines a table commits by itself. A program that
 * dies halfway leaves the old version's number, and the next program repeats the migration from there. Programs take
 * turns, except on two nodes of a cluster: a named lock holds on one node alone.
 */
export async function migrateLedger(
  connections: Connections,
  { migrations, ...tables }: LedgerTables,
  { tablePrefix }: LedgerLocation,
  migration: LedgerMigration,
): Promise<void> {
  // The transaction may be repeated after some versions.
  let hasRecorded = false;
  // The named lock lasts until RELEASE_LOCK or the end of the session; a COMMIT does not release it.
  await connections.transaction(
    ["DO 0"],
    async (connection) => {
      const lock = `groupsync ${tablePrefix}`;
      const [row] = await connection.query<{ locked: unknown }>("SELECT GET_LOCK($1, $2) AS locked", [
        lock,
        LONGEST_WAIT,
      ]);
      if (Number(row?.locked) !== 1) throw busy();
      try {
        await connection.query(
          `CREATE TABLE IF NOT EXISTS ${migrations} (
           version INT NOT NULL PRIMARY KEY,
           applied_at DATETIME(6) NOT NULL
         ) ${TABLE_OPTIONS}`,
        );
        const [latest] = await connection.query<{ version: number }>(
          `SELECT coalesce(max(version), 0) AS version FROM ${migrations}`,
        );
        const before = Number(latest?.version ?? 0);
        if (migration.from === "nothing" && before > 0 && !hasRecorded) return;
        // Ask again each time: a statement that defines a table commits, and the commit releases the lock on the lease.
        const insistOnLease = async (): Promise<void> => {
          if (migration.from === "nothing") return;
          if ((await connection.query(migration.ifHeld)).length === 0) throw leaseLost();
        };
        for (const { version, definitions, rows } of MIGRATIONS) {
          if (version <= before) continue;
          for (const statement of definitions({ migrations, ...tables })) {
            await insistOnLease();
            await connection.query(statement).catch(unless(isDoneAlready));
          }
          await connection.query("START TRANSACTION");
          await insistOnLease();
          // If another node was quicker, it has changed the rows too. It goes on with a new ledger alone: two in step would
          // get in each other's way at each version.
          const insert = `INSERT INTO ${migrations} (version, applied_at) VALUES ($1, UTC_TIMESTAMP(6))`;
          const isOurs = await connection.query(insert, [version]).then(() => true, unless(isDuplicate));
          if (isOurs) {
            for (const statement of rows?.({ migrations, ...tables }) ?? [])
              await connection.query(statement);
          }
          await connection.query("COMMIT");
          if (!isOurs && migration.from === "nothing") return;
          hasRecorded = true;
        }
      } finally {
        await connection.query("DO RELEASE_LOCK($1)", [lock]);
      }
    },
    MIGRATION,
  );
}

/** Passes an error over if `isExpected` says so. */
const unless =
  (isExpected: (error: unknown) => boolean) =>
  (error: unknown): void => {
    if (!isExpected(error)) throw error;
  };

const busy = (): SyncError =>
  new SyncError(
    "LEDGER_UNAVAILABLE",
    `another program has been migrating the ledger's tables for ${LONGEST_WAIT} seconds`,
    {
      hint: "look for it with SHOW PROCESSLIST; try again when it has ended",
    },
  );

/** Rejects if this user could not create the ledger's tables, or could not write to existing ones. Changes nothing. */
export async function inspectLedger(
  database: Connections,
  { migrations, groups, leases, runs }: LedgerTables,
  _location: LedgerLocation,
  isThere: boolean,
): Promise<void> {
  const statements = isThere
    ? [groups, leases, runs].flatMap((table) => [
        `INSERT INTO ${table} SELECT * FROM ${table} WHERE FALSE`,
        `UPDATE ${table} SET scope = scope WHERE FALSE`,
        `DELETE FROM ${table} WHERE FALSE`,
      ])
    : [`CREATE TABLE ${migrations} (version INT NOT NULL PRIMARY KEY)`];
  for (const statement of statements) {
    try {
      await rehearse(database, statement);
    } catch (error) {
      if (!isDenied(error)) throw error;
      const { name, quoted } = await currentAccount(database);
      const [row] = await database.query<{ name: string }>("SELECT database() AS name");
      const [doing, rights] = isThere ? ["write to", TO_WRITE] : ["create", [...TO_WRITE, ...TO_CREATE]];
      throw new SyncError(
        "LEDGER_UNAVAILABLE",
        `user ${name} may not ${doing} the ledger's tables in database ${row?.name}`,
        {
          hint: `GRANT ${rights.join(", ")} ON ${identifiers.quoteName(row?.name ?? "")}.* TO ${quoted}`,
          cause: error,
        },
      );
    }
  }
}

const TO_WRITE = ["SELECT", "INSERT", "UPDATE", "DELETE"];
const TO_CREATE = ["CREATE", "ALTER", "INDEX"];
