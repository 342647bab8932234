import { OWNERS_TABLE, type TokenOwnerStatements } from "../sql/token-owner-statements.ts";
import { quoteName } from "./names.ts";

export const tokenOwners: TokenOwnerStatements = {
  // Every name is quoted.
  columnName: async (_database, _place, written) => written,
  foldsCase: async () => false,
  shownName: quoteName,
  ownerTypes: { name: "text", text: "text", end: "" },
  createOnce: (database, statement) =>
    database.transaction(["BEGIN"], async (connection) => {
      // Of two programs at once, IF NOT EXISTS alone lets both try, and one fail.
      await connection.query("SELECT pg_advisory_xact_lock(hashtext($1))", [`groupsync ${OWNERS_TABLE}`]);
      await connection.query(statement);
    }),
  async grantee(database) {
    const [row] = await database.query<{ user: string }>("SELECT current_user AS user");
    return quoteName(row?.user ?? "");
  },
  isDenied: (error) => error instanceof Error && "code" in error && error.code === "42501",
};
