import { SyncError } from "../../core/errors.ts";
import type { Database } from "./database.ts";
import { databaseError } from "./failures.ts";
import type { LedgerLocation, LedgerTables } from "./ledger-tables.ts";

/** Of the tables that the ledger's statements are written for. */
export const LATEST_VERSION = 6;

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

/** Rejects where they could not be made, or not be written; says which right or schema is missing. */
export async function inspectLedger(
  database: Database,
  tables: LedgerTables,
  location: LedgerLocation,
): Promise<void> {
  const { dialect } = database;
  let isThere = false;
  try {
    isThere = (await ledgerVersion(database, tables)) > 0;
  } catch (error) {
    // Without any right to it, MySQL doesn't tell whether there is a table.
    if (!(error instanceof SyncError)) await dialect.inspectLedger(database, tables, location, false);
    throw error;
  }
  await dialect.inspectLedger(database, tables, location, isThere);
}

/** Makes the tables of a new ledger, and leaves those of an older groupsync as they are. */
export async function createLedger(
  database: Database,
  tables: LedgerTables,
  location: LedgerLocation,
): Promise<void> {
  try {
    if ((await ledgerVersion(database, tables)) > 0) return;
    await database.dialect.migrateLedger(database, tables, location, { from: "nothing" });
  } catch (error) {
    if (!(error instanceof SyncError))
      await database.dialect.inspectLedger(database, tables, location, false);
    throw databaseError(database.dialect, "LEDGER_UNAVAILABLE", "cannot create the ledger's tables", error);
  }
}

/**
 * Brings the tables to the latest version. Rejects with LEASE_LOST once `ifHeld` finds no row, and with LEASE_HELD while
 * another scope's lease in the same tables is held: its holder may be an older program, which can't read newer tables.
 */
export async function migrateLedger(
  database: Database,
  tables: LedgerTables,
  location: LedgerLocation,
  { scope, ifHeld }: { readonly scope: string; readonly ifHeld: string },
): Promise<void> {
  const version = await ledgerVersion(database, tables);
  if (version === LATEST_VERSION) return;
  try {
    const [other] = await database.query<ScopeHolder>(
      `SELECT scope, holder, expires_at AS "expiresAt" FROM ${tables.leases}
       WHERE scope <> $1 AND expires_at > ${database.dialect.now} ORDER BY scope`,
      [scope],
    );
    if (other) throw heldElsewhere(version, other);
    await database.dialect.migrateLedger(database, tables, location, { from: "an older version", ifHeld });
  } catch (error) {
    throw databaseError(database.dialect, "LEDGER_UNAVAILABLE", "cannot migrate the ledger's tables", error);
  }
}

interface ScopeHolder {
  readonly scope: string;
  readonly holder: string;
  readonly expiresAt: Date;
}

const heldElsewhere = (version: number, { scope, holder, expiresAt }: ScopeHolder): SyncError =>
  new SyncError(
    "LEASE_HELD",
    `the ledger has version ${version} and can't be migrated yet: the config named ${JSON.stringify(scope)} shares its tables, and ${holder} has that lease until ${expiresAt.toISOString()}`,
    {
      hint: `nothing was changed. Try again once that run has ended; the next sync migrates the ledger. If that process is gone, wait until its lease expires, or run a sync of ${JSON.stringify(scope)}`,
    },
  );

export const leaseLost = (): SyncError =>
  new SyncError("LEASE_LOST", "another instance has taken the lease", {
    hint: "nothing more was changed; that instance settles what was under way",
  });

/** For people, such as `public.groupsync_*`; null where nobody can say which schema that would be. Rejects with LEDGER_UNAVAILABLE. */
export async function shownTables(
  { dialect, byRolesPath }: Pick<Database, "dialect" | "byRolesPath">,
  { schema, tablePrefix }: LedgerLocation,
): Promise<string | null> {
  try {
    const place = await dialect.tablePlace(byRolesPath, { schema, table: `${tablePrefix}migrations` });
    return place ? `${place.schema}.${tablePrefix}*` : null;
  } catch (error) {
    throw databaseError(dialect, "LEDGER_UNAVAILABLE", "cannot open the ledger", error);
  }
}
