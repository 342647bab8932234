import { SyncError } from "../../core/errors.ts";
import { MIGRATING } from "../sql/attendance.ts";
import type { Connections } from "../sql/connections.ts";
import type { LedgerMigration } from "../sql/dialect.ts";
import { leaseLost } from "../sql/ledger-schema.ts";
import type { LedgerLocation, LedgerTables } from "../sql/ledger-tables.ts";
import { isDoneAlready } from "./failures.ts";
import { MIGRATIONS, TABLE_OPTIONS } from "./ledger-migrations.ts";

/** How long a program waits for another that is at it, in seconds. */
const PATIENCE = 30;

/**
 * Brings the ledger's tables to the latest version. A statement that changes a table commits by itself, so a program
 * that dies halfway leaves the old version's number, and the next one does it again.
 */
export async function migrateLedger(
  connections: Connections,
  { migrations, ...tables }: LedgerTables,
  { tablePrefix }: LedgerLocation,
  migration: LedgerMigration,
): Promise<void> {
  // Named locks last as long as their session, which the end of a transaction doesn't end.
  await connections.transaction(
    ["DO 0"],
    async (connection) => {
      const lock = `groupsync ${tablePrefix}`;
      const [row] = await connection.query<{ locked: unknown }>("SELECT GET_LOCK($1, $2) AS locked", [
        lock,
        PATIENCE,
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
        if (migration.from === "nothing" && before > 0) return;
        for (const { version, statements } of MIGRATIONS) {
          if (version <= before) continue;
          for (const statement of statements({ migrations, ...tables })) {
            // Each time: a statement that changes a table commits, and lets go of what was locked before it.
            const isHeld =
              migration.from === "nothing" || (await connection.query(migration.ifHeld)).length > 0;
            if (!isHeld) throw leaseLost();
            try {
              await connection.query(statement);
            } catch (error) {
              if (!isDoneAlready(error)) throw error;
            }
          }
          await connection.query(
            `INSERT INTO ${migrations} (version, applied_at) VALUES ($1, UTC_TIMESTAMP(6))`,
            [version],
          );
        }
      } finally {
        await connection.query("DO RELEASE_LOCK($1)", [lock]);
      }
    },
    MIGRATING,
  );
}

const busy = (): SyncError =>
  new SyncError(
    "LEDGER_UNAVAILABLE",
    `another program has been at the ledger's tables for ${PATIENCE} seconds`,
    {
      hint: "is a groupsync migrating them? SHOW PROCESSLIST tells",
    },
  );
