import { SyncError } from "../../core/errors.ts";
import type { Connections } from "../sql/connections.ts";
import { quotedTable } from "../sql/table-place.ts";
import type { PlacedTokenTable } from "../sql/token-statements.ts";
import { isDenied } from "./failures.ts";
import { names } from "./names.ts";
import { currentAccount } from "./rights.ts";

/**
 * Runs `body` and, where the user lacks a right, says which. What a user may do is known to the server alone: it
 * depends on the rights to the server, database, table and columns, and on roles. `more` are rights to the table that
 * it takes too.
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
        : ["SELECT", `UPDATE (${names.quoteName(tokenColumn)})`];
    throw new SyncError("TOKEN_STORE_UNAVAILABLE", `user ${user} may not write tokens to ${table}`, {
      hint: `GRANT ${[...more, ...rights].join(", ")} ON ${quotedTable(names, options)} TO ${account}`,
      cause: error,
    });
  }
}
