import { OWNERS_TABLE, type TokenOwnerStatements } from "../../sql/dialect/token-owner-statements.ts";
import { quoteName } from "../connection/identifiers.ts";
import { BEGIN } from "../connection/settings.ts";

export const tokenOwners: TokenOwnerStatements = {
  // Statements quote every column name, so the database has the name as it is written.
  columnName: async (_database, _place, written) => written,
  shownName: quoteName,
  ownerTypes: { name: "text", text: "text", end: "" },
  createOnce: (database, statement) =>
    database.transaction([BEGIN], async (connection) => {
      // IF NOT EXISTS alone lets two programs try at once, and one of them fails: lock first.
      await connection.query("SELECT pg_advisory_xact_lock(hashtext($1))", [`groupsync ${OWNERS_TABLE}`]);
      await connection.query(statement);
    }),
  async grantee(database) {
    const [row] = await database.query<{ user: string }>("SELECT current_user AS user");
    return quoteName(row?.user ?? "");
  },
  isDenied: (error) => error instanceof Error && "code" in error && error.code === "42501",
};
