import type { TokenOwnerStatements } from "../../sql/dialect/token-owner-statements.ts";
import { isDenied } from "../connection/failures.ts";
import { identifiers } from "../connection/identifiers.ts";
import { currentAccount } from "../connection/rights.ts";
import { TABLE_OPTIONS } from "../ledger/ledger-migrations.ts";

export const tokenOwners: TokenOwnerStatements = {
  async columnName(database, { schema, table }, written) {
    const [found] = await database.query<{ name: string }>(
      `SELECT COLUMN_NAME AS name FROM information_schema.COLUMNS
       WHERE TABLE_SCHEMA = $1 AND TABLE_NAME = $2 AND LOWER(COLUMN_NAME) = LOWER($3)`,
      [schema, table, written],
    );
    // The column does not exist yet, or is hidden from this user.
    return found?.name ?? written;
  },
  shownName: identifiers.quoteName,
  ownerTypes: { name: "VARCHAR(64)", text: "TEXT", end: ` ${TABLE_OPTIONS}` },
  createOnce: async (database, statement) => {
    await database.query(statement);
  },
  grantee: async (database) => (await currentAccount(database)).quoted,
  isDenied,
};
