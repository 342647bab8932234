import { SyncError } from "../../../core/failure/sync-error.ts";
import type { Connections } from "../../sql/connection/connections.ts";
import { quotedTable } from "../../sql/connection/table-place.ts";
import type { PlacedTokenTable } from "../../sql/dialect/token-statements.ts";
import { isDenied } from "../connection/failures.ts";
import { identifiers } from "../connection/identifiers.ts";
import { currentAccount } from "../connection/rights.ts";

/**
 * Runs `body`; if the user lacks a right, rejects with TOKEN_STORE_UNAVAILABLE and the GRANT. Only the server knows
 * what a user may do, because rights come from the server, the database, the table, its columns and from roles. `more`
 * are further rights to the table for that GRANT.
 */
export async function explainingRights(
  database: Connections,
  options: PlacedTokenTable,
  more: readonly string[],
  body: () => Promise<void>,
): Promise<void> {
  try {
    await body();
  } catch (error) {
    if (!isDenied(error)) throw error;
    const { name: user, quoted: account } = await currentAccount(database);
    const { table, rows, tokenColumn } = options;
    const rights =
      rows === "own"
        ? ["SELECT", "INSERT", "UPDATE", "DELETE"]
        : ["SELECT", `UPDATE (${identifiers.quoteName(tokenColumn)})`];
    throw new SyncError("TOKEN_STORE_UNAVAILABLE", `user ${user} may not write tokens to ${table}`, {
      hint: `GRANT ${[...more, ...rights].join(", ")} ON ${quotedTable(identifiers, options)} TO ${account}`,
      cause: error,
    });
  }
}
