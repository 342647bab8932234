import { SyncError } from "../../core/errors.ts";
import type { Connections } from "../sql/connections.ts";
import type { LedgerLocation, LedgerTables } from "../sql/ledger-tables.ts";
import { insistOnUtf8 } from "./ledger-migration.ts";
import { quoteName } from "./names.ts";
import { insistOnSchema } from "./rights.ts";

/** Rejects where the ledger's tables could not be made, or not be written. Changes nothing. */
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
    `SELECT current_user AS "user", name FROM unnest($1::text[]) AS t (name), unnest($2::text[]) AS r (privilege)
     WHERE to_regclass(name) IS NOT NULL AND NOT has_table_privilege(name, privilege) LIMIT 1`,
    [Object.values(tables), RIGHTS],
  );
  if (!refused) return;
  const { user, name } = refused;
  throw new SyncError("LEDGER_UNAVAILABLE", `user ${user} may not write to the ledger's table ${name}`, {
    hint: `GRANT ${RIGHTS.join(", ")} ON ${Object.values(tables).join(", ")} TO ${quoteName(user)}`,
  });
}

const RIGHTS = ["SELECT", "INSERT", "UPDATE", "DELETE"];
