import { SyncError } from "../../../core/failure/sync-error.ts";
import type { Connections } from "../../sql/connection/connections.ts";
import type { LedgerLocation, LedgerTables } from "../../sql/dialect/ledger-tables.ts";
import { isDenied } from "../connection/failures.ts";
import { identifiers } from "../connection/identifiers.ts";
import { currentAccount, rehearse } from "../connection/rights.ts";

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
