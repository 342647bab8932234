import { SyncError } from "../../core/errors.ts";
import type { Database } from "./database.ts";
import { databaseError } from "./failures.ts";
import type { LedgerLocation, LedgerTables } from "./ledger-tables.ts";

/** Of the tables that the ledger's statements are written for. */
export const LATEST_VERSION = 5;

/** Version 0: there are no tables yet. Rejects with LEDGER_TOO_NEW where this program doesn't know them. */
export async function ledgerVersion(database: Database, { migrations }: LedgerTables): Promise<number> {
  if (!(await database.dialect.tableExists(database, migrations))) return 0;
  const [row] = await database.query<{ version: number }>(
    `SELECT coalesce(max(version), 0) AS version FROM ${migrations}`,
  );
  const version = Number(row?.version ?? 0);
  if (version > LATEST_VERSION) {
    throw new SyncError(
      "LEDGER_TOO_NEW",
      `the ledger has version ${version}, and this groupsync knows versions up to ${LATEST_VERSION}`,
      { hint: "a newer groupsync has been at work on it: run that one" },
    );
  }
  return version;
}

/** Brings the tables to the latest version. */
export async function migrateLedger(
  database: Database,
  tables: LedgerTables,
  location: LedgerLocation,
): Promise<void> {
  if ((await ledgerVersion(database, tables)) === LATEST_VERSION) return;
  try {
    await database.dialect.migrateLedger(database, tables, location);
  } catch (error) {
    throw databaseError(database.dialect, "LEDGER_UNAVAILABLE", "cannot create the ledger's tables", error);
  }
}
