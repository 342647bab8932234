import { ASKING } from "../sql/attendance.ts";
import type { Connections } from "../sql/connections.ts";

/** Has the server look through a statement, and at the rights that it takes, without running it. */
export const rehearse = (database: Connections, statement: string): Promise<void> =>
  // A prepared statement belongs to its connection.
  database.transaction(
    ["DO 0"],
    async (connection) => {
      await connection.query("PREPARE groupsync_rehearsal FROM $1", [statement]);
      await connection.query("DEALLOCATE PREPARE groupsync_rehearsal");
    },
    ASKING,
  );

export interface Account {
  readonly name: string;
  /** For a GRANT. */
  readonly quoted: string;
}

/** Whose rights these are: the server may know the user by another host than the one that it comes from. */
export async function currentAccount(database: Connections): Promise<Account> {
  const [row] = await database.query<{ user: string }>("SELECT current_user() AS user");
  const name = row?.user ?? "";
  const at = name.lastIndexOf("@");
  return { name, quoted: [name.slice(0, at), name.slice(at + 1)].map(quoteAccount).join("@") };
}

const quoteAccount = (part: string): string => `\`${part.replaceAll("`", "``")}\``;
