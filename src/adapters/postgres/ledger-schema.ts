import { SyncError } from "../../core/errors.ts";
import type { Database } from "./database.ts";
import { databaseError } from "./failures.ts";
import { quoteName } from "./identifiers.ts";
import { MIGRATIONS } from "./ledger-migrations.ts";
import type { LedgerLocation, LedgerTables } from "./ledger-tables.ts";

export const LATEST_VERSION = MIGRATIONS.length;

/** Version 0: there are no tables yet. Rejects with LEDGER_TOO_NEW where this program doesn't know them. */
export async function ledgerVersion(database: Database, { migrations }: LedgerTables): Promise<number> {
  const [there] = await database.query<{ oid: string | null }>("SELECT to_regclass($1)::text AS oid", [
    migrations,
  ]);
  if (!there?.oid) return 0;
  const [row] = await database.query<{ version: number }>(
    `SELECT coalesce(max(version), 0) AS version FROM ${migrations}`,
  );
  const version = row?.version ?? 0;
  if (version > LATEST_VERSION) {
    throw new SyncError(
      "LEDGER_TOO_NEW",
      `the ledger has version ${version}, and this groupsync knows versions up to ${LATEST_VERSION}`,
      { hint: "a newer groupsync has been at work on it: run that one" },
    );
  }
  return version;
}

/** Brings the tables to the latest version, in one transaction; two programs at once wait for each other. */
export async function migrateLedger(
  database: Database,
  tables: LedgerTables,
  { schema, tablePrefix }: LedgerLocation,
): Promise<void> {
  if ((await ledgerVersion(database, tables)) === LATEST_VERSION) return;
  try {
    await insistOnUtf8(database);
    await database.transaction("BEGIN", async (connection) => {
      await connection.query("SELECT pg_advisory_xact_lock(hashtext($1))", [`groupsync ${tablePrefix}`]);
      if (schema !== undefined) {
        // IF NOT EXISTS would ask for the right to create schemas even where it does exist.
        const { rows } = await connection.query("SELECT 1 FROM pg_namespace WHERE nspname = $1", [schema]);
        if (rows.length === 0) await connection.query(`CREATE SCHEMA ${quoteName(schema)}`);
      }
      await connection.query(
        `CREATE TABLE IF NOT EXISTS ${tables.migrations}
           (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`,
      );
      const { rows } = await connection.query<{ version: number }>(
        `SELECT coalesce(max(version), 0) AS version FROM ${tables.migrations}`,
      );
      for (let version = rows[0]?.version ?? 0; version < LATEST_VERSION; version++) {
        await connection.query(MIGRATIONS[version]?.(tables) ?? "");
        await connection.query(`INSERT INTO ${tables.migrations} (version) VALUES ($1)`, [version + 1]);
      }
    });
  } catch (error) {
    throw databaseError("LEDGER_UNAVAILABLE", "cannot create the ledger's tables", error);
  }
}

/** Only there is the order of `COLLATE "C"` the order of the UTF-8 bytes, and every id can be kept. */
async function insistOnUtf8(database: Database): Promise<void> {
  const [row] = await database.query<{ server_encoding: string }>("SHOW server_encoding");
  if (row?.server_encoding === "UTF8") return;
  throw new SyncError("LEDGER_ENCODING", `the ledger's database is encoded in ${row?.server_encoding}`, {
    hint: "name a database with the encoding UTF8 in ledger.url",
  });
}
