import { SyncError } from "../../../core/failure/sync-error.ts";
import { FORGET } from "../../../core/report/forgotten.ts";
import type { SchemaReads, SchemaWrites } from "../../../ports/ledger/ledger.ts";
import { databaseError } from "../connection/failures.ts";
import { insistOnWrites } from "../dialect/database.ts";
import type { LedgerTables } from "../dialect/ledger-tables.ts";
import { type LedgerReader, ledgerVersion } from "./ledger-reader.ts";
import type { LedgerScope } from "./scope.ts";

export const schemaReads = (reader: LedgerReader): SchemaReads => ({
  inspect: () =>
    opening(reader, "open the ledger", async () => {
      const tables = await reader.tables();
      await insistOnWrites(reader.database);
      const version = await namingRights(reader, () => ledgerVersion(reader.database, tables));
      await inspectTables(reader, version > 0);
    }),

  tables: () =>
    opening(reader, "open the ledger", async () => ({
      place: await placeOf(reader),
      scopes: await scopesIn(reader),
    })),
});

async function placeOf({ database, location }: LedgerReader): Promise<string | null> {
  const { dialect, byRolesPath } = database;
  const { schema, tablePrefix } = location;
  const place = await dialect.tablePlace(byRolesPath, { schema, table: `${tablePrefix}migrations` });
  return place ? `${place.schema}.${tablePrefix}*` : null;
}

/** Looks for rows of each lease's scope, because every scope has a lease from its first run on. */
const scopesIn = (reader: LedgerReader): Promise<readonly string[]> =>
  reader.read([], async ({ connection, tables }) => {
    const { leases, groups, scopes, runs } = tables;
    const kept = [groups, scopes, `(SELECT scope FROM ${runs} WHERE command <> '${FORGET}')`].map(
      (rows) => `EXISTS (SELECT 1 FROM ${rows} AS t WHERE t.scope = l.scope)`,
    );
    const rows = await connection.query<{ scope: string }>(
      `SELECT scope FROM ${leases} AS l WHERE ${kept.join(" OR ")} ORDER BY scope`,
    );
    return rows.map((row) => row.scope);
  });

export const prepareLedger = (reader: LedgerReader): Promise<void> =>
  opening(reader, "open the ledger", async () => {
    const tables = await reader.tables();
    await opening(reader, "create the ledger's tables", () =>
      namingRights(reader, () => createIfMissing(reader, tables)),
    );
    // Check again: somebody else may have created a table just before this did.
    await reader.insistOnOwner();
  });

async function createIfMissing({ database, location }: LedgerReader, tables: LedgerTables): Promise<void> {
  if ((await ledgerVersion(database, tables)) === 0)
    await database.dialect.createLedger(database, tables, location);
}

async function opening<T>({ database }: LedgerReader, what: string, body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    throw databaseError(database.dialect, "LEDGER_UNAVAILABLE", `cannot ${what}`, error);
  }
}

/** If the database refuses `body`, perhaps because a right or the schema is missing, the error names it. */
async function namingRights<T>(reader: LedgerReader, body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    // MySQL doesn't tell a user without any right to a table whether the table exists.
    if (!(error instanceof SyncError)) await inspectTables(reader, false);
    throw error;
  }
}

/** Rejects if this user could not create the tables or, if they are there, could not write to them. */
const inspectTables = async (reader: LedgerReader, areThere: boolean): Promise<void> =>
  reader.database.dialect.inspectLedger(reader.database, await reader.tables(), reader.location, areThere);

export const schemaWrites = ({ connection, tables, scope }: LedgerScope): SchemaWrites => ({
  async forgetScope() {
    // The other tables have no scope, or have to keep its lease.
    const { migrations: _migrations, identity: _identity, leases: _leases, runs, ...others } = tables;
    for (const table of Object.values(others))
      await connection.query(`DELETE FROM ${table} WHERE scope = $1`, [scope]);
    const [newest] = await connection.query<{ id: string | null }>(
      `SELECT max(id) AS id FROM ${runs} WHERE scope = $1`,
      [scope],
    );
    await connection.query(`DELETE FROM ${runs} WHERE scope = $1 AND id < $2`, [scope, newest?.id ?? null]);
  },
});
