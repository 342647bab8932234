import { SyncError } from "../../../core/failure/sync-error.ts";
import { FORGET } from "../../../core/report/health.ts";
import type { LedgerSchema, SchemaReads, SchemaWrites } from "../../../ports/ledger/ledger.ts";
import { databaseError } from "../connection/failures.ts";
import { type Database, insistOnWrites } from "../dialect/database.ts";
import type { LedgerLocation, LedgerTables } from "../dialect/ledger-tables.ts";
import { LATEST_VERSION, type LedgerReader, type LedgerScope, ledgerVersion } from "./scope.ts";

export const schemaReads = (reader: LedgerReader): SchemaReads => ({
  id: () => reader.read(null, ledgerId),
  inspect: () =>
    opening(reader, async () => inspectLedger(reader.database, await reader.tables(), reader.location)),
  ownTables: () => shownTables(reader.database, reader.location),
  scopes: () => reader.read([], scopes),
});

export const schemaWrites = (ledger: LedgerScope): SchemaWrites => ({
  forgetScope: () => forgetScope(ledger),
});

export const ledgerSchema = (reader: LedgerReader): Pick<LedgerSchema, "prepare"> => ({
  prepare: () =>
    opening(reader, async () => {
      await prepareLedger(reader.database, await reader.tables(), reader.location);
      // Check again: somebody else may have created a table just before `prepare` did.
      await reader.insistOnOwner();
    }),
});

async function opening<T>({ database }: LedgerReader, body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    throw databaseError(database.dialect, "LEDGER_UNAVAILABLE", "cannot open the ledger", error);
  }
}

async function ledgerId({ connection, tables }: LedgerScope): Promise<string | null> {
  const [row] = await connection.query<{ id: string }>(`SELECT id FROM ${tables.identity}`);
  return row?.id ?? null;
}

/** Looks for rows of each lease's scope, because every scope has a lease from its first run on. */
async function scopes({ connection, tables }: LedgerScope): Promise<readonly string[]> {
  const { leases, groups, services, evidence, tokenDestinations, runs } = tables;
  const kept = [
    groups,
    services,
    evidence,
    tokenDestinations,
    `(SELECT scope FROM ${runs} WHERE command <> '${FORGET}')`,
  ].map((rows) => `EXISTS (SELECT 1 FROM ${rows} AS t WHERE t.scope = l.scope)`);
  const rows = await connection.query<{ scope: string }>(
    `SELECT scope FROM ${leases} AS l WHERE ${kept.join(" OR ")} ORDER BY scope`,
  );
  return rows.map((row) => row.scope);
}

async function forgetScope({ connection, tables, scope }: LedgerScope): Promise<void> {
  // The other tables have no scope, or have to keep its lease.
  const { migrations: _migrations, identity: _identity, leases: _leases, runs, ...others } = tables;
  for (const table of Object.values(others))
    await connection.query(`DELETE FROM ${table} WHERE scope = $1`, [scope]);
  const [newest] = await connection.query<{ id: string | null }>(
    `SELECT max(id) AS id FROM ${runs} WHERE scope = $1`,
    [scope],
  );
  await connection.query(`DELETE FROM ${runs} WHERE scope = $1 AND id < $2`, [scope, newest?.id ?? null]);
}

/** Rejects if this user could not create or write the tables. The error names the missing right or schema. */
async function inspectLedger(
  database: Database,
  tables: LedgerTables,
  location: LedgerLocation,
): Promise<void> {
  const { dialect } = database;
  await insistOnWrites(database);
  let isThere = false;
  try {
    isThere = (await ledgerVersion(database, tables)) > 0;
  } catch (error) {
    // MySQL doesn't tell a user without any right to the table whether it exists.
    if (!(error instanceof SyncError)) await dialect.inspectLedger(database, tables, location, false);
    throw error;
  }
  await dialect.inspectLedger(database, tables, location, isThere);
}

/** Brings the tables to the latest version. */
async function prepareLedger(
  database: Database,
  tables: LedgerTables,
  location: LedgerLocation,
): Promise<void> {
  try {
    if ((await ledgerVersion(database, tables)) === LATEST_VERSION) return;
    await database.dialect.migrateLedger(database, tables, location);
  } catch (error) {
    if (!(error instanceof SyncError))
      await database.dialect.inspectLedger(database, tables, location, false);
    throw databaseError(database.dialect, "LEDGER_UNAVAILABLE", "cannot create the ledger's tables", error);
  }
}

/** For messages, such as `public.groupsync_*`; null if nobody can name the schema. Rejects with LEDGER_UNAVAILABLE. */
async function shownTables(
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
