import { SyncError } from "../../../core/failure/sync-error.ts";
import type { Connections } from "../../sql/connection/connections.ts";
import { MIGRATION } from "../../sql/connection/wait-limits.ts";
import type { LedgerMigration } from "../../sql/dialect/dialect.ts";
import type { LedgerLocation, LedgerTables } from "../../sql/dialect/ledger-tables.ts";
import { leaseLost } from "../../sql/ledger/schema.ts";
import { quoteName } from "../connection/identifiers.ts";
import { insistOnSchema } from "../connection/rights.ts";
import { DURABLY } from "../connection/settings.ts";
import { MIGRATIONS } from "./ledger-migrations.ts";

/** Brings the ledger's tables to the latest version, in one transaction. */
export async function migrateLedger(
  database: Connections,
  { migrations, ...tables }: LedgerTables,
  { schema, tablePrefix }: LedgerLocation,
  migration: LedgerMigration,
): Promise<void> {
  await insistOnUtf8(database);
  const isNew = migration.from === "nothing";
  const begin = isNew ? DURABLY : [...DURABLY, migration.ifHeld];
  await database.transaction(
    begin,
    async (connection, held) => {
      if (!isNew && held.length === 0) throw leaseLost();
      await connection.query("SELECT pg_advisory_xact_lock(hashtext($1))", [`groupsync ${tablePrefix}`]);
      if (schema !== undefined) {
        // Even if the schema exists, IF NOT EXISTS would ask for the right to create schemas.
        const schemas = await connection.query(
          "SELECT 1 FROM pg_catalog.pg_namespace AS n WHERE n.nspname = $1",
          [schema],
        );
        if (schemas.length === 0) await connection.query(`CREATE SCHEMA ${quoteName(schema)}`);
      }
      await connection.query(
        `CREATE TABLE IF NOT EXISTS ${migrations}
         (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`,
      );
      const [row] = await connection.query<{ version: number }>(
        `SELECT coalesce(max(version), 0) AS version FROM ${migrations}`,
      );
      const before = row?.version ?? 0;
      if (isNew && before > 0) return;
      for (const [index, statements] of MIGRATIONS.entries()) {
        const version = index + 1;
        if (version <= before) continue;
        await connection.query(statements({ migrations, ...tables }));
        await connection.query(`INSERT INTO ${migrations} (version) VALUES ($1)`, [version]);
      }
    },
    MIGRATION,
  );
}

/** Rejects unless the encoding is UTF8: only then does `COLLATE "C"` order by the UTF-8 bytes, and every id fits. */
async function insistOnUtf8(database: Connections): Promise<void> {
  const [row] = await database.query<{ server_encoding: string }>("SHOW server_encoding");
  if (row?.server_encoding === "UTF8") return;
  throw new SyncError("LEDGER_ENCODING", `the ledger's database is encoded in ${row?.server_encoding}`, {
    hint: "name a database with the encoding UTF8 in ledger.url",
  });
}

/** Rejects if this user could not create the ledger's tables, or could not write to existing ones. Changes nothing. */
export async function inspectLedger(
  database: Connections,
  { migrations, ...tables }: LedgerTables,
  { schema }: LedgerLocation,
  isThere: boolean,
): Promise<void> {
  if (!isThere) {
    await insistOnUtf8(database);
    const purpose = { code: "LEDGER_UNAVAILABLE", what: "the ledger's tables" } as const;
    await insistOnSchema(database, schema, purpose, { mayBeCreated: true });
    return;
  }
  const [refused] = await database.query<{ user: string; name: string }>(
    `SELECT current_user AS "user", t.name
     FROM unnest($1::text[]) AS t (name), unnest($2::text[]) AS r (privilege)
     WHERE to_regclass(t.name) IS NOT NULL AND NOT has_table_privilege(t.name, r.privilege) LIMIT 1`,
    [Object.values(tables), RIGHTS],
  );
  if (!refused) return;
  const { user, name } = refused;
  throw new SyncError("LEDGER_UNAVAILABLE", `user ${user} may not write to the ledger's table ${name}`, {
    hint: `GRANT ${RIGHTS.join(", ")} ON ${Object.values(tables).join(", ")} TO ${quoteName(user)}`,
  });
}

const RIGHTS = ["SELECT", "INSERT", "UPDATE", "DELETE"];
