import type { Connections } from "../../sql/connection/connections.ts";
import { SHORT_READ } from "../../sql/connection/wait-limits.ts";

/** Has the server check a statement, and the user's rights to run it, without running it. */
export const rehearse = (database: Connections, statement: string): Promise<void> =>
  // A prepared statement belongs to one connection, so use a transaction, which keeps its connection.
  database.transaction(
    ["DO 0"],
    async (connection) => {
      await connection.query("PREPARE groupsync_rehearsal FROM $1", [statement]);
      await connection.query("DEALLOCATE PREPARE groupsync_rehearsal");
    },
    SHORT_READ,
  );

interface Account {
  readonly name: string;
  /** Quoted for a GRANT. */
  readonly quoted: string;
}

/** The account whose rights count. Its host may differ from the host from which the user connects. */
export async function currentAccount(database: Connections): Promise<Account> {
  const [row] = await database.query<{ user: string }>("SELECT current_user() AS user");
  const name = row?.user ?? "";
  const at = name.lastIndexOf("@");
  return { name, quoted: [name.slice(0, at), name.slice(at + 1)].map(quoteAccount).join("@") };
}

const quoteAccount = (part: string): string => `\`${part.replaceAll("`", "``")}\``;
