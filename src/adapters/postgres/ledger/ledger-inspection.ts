import { SyncError } from "../../../core/failure/sync-error.ts";
import type { Connections } from "../../sql/connection/connections.ts";
import type { LedgerLocation, LedgerTables } from "../../sql/dialect/ledger-tables.ts";
import { quoteName } from "../connection/identifiers.ts";
import { insistOnSchema } from "../connection/rights.ts";
import { insistOnUtf8 } from "./ledger-migration.ts";

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
