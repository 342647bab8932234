import { SyncError } from "../../core/errors.ts";
import type { Connections } from "../sql/connections.ts";
import type { LedgerLocation, LedgerTables } from "../sql/ledger-tables.ts";
import { isDenied } from "./failures.ts";
import { names } from "./names.ts";
import { currentAccount, rehearse } from "./rights.ts";

/** Rejects where the ledger's tables could not be made, or not be written. Changes nothing. */
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
          hint: `GRANT ${rights.join(", ")} ON ${names.quoteName(row?.name ?? "")}.* TO ${quoted}`,
          cause: error,
        },
      );
    }
  }
}

const TO_WRITE = ["SELECT", "INSERT", "UPDATE", "DELETE"];
const TO_CREATE = ["CREATE", "ALTER", "INDEX"];
