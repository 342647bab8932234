import { partsOf } from "../sql/names.ts";
import { OWNERS_TABLE, type TokenOwnerStatements } from "../sql/token-owner-statements.ts";
import { quoteName, quoteTable } from "./names.ts";

export const tokenOwners: TokenOwnerStatements = {
  async tokenTablePlace(database, { table, tokenColumn }) {
    const parts = partsOf(table);
    const [found] = await database.query<{ schema: string | null; table: string }>(
      `SELECT coalesce(nspname::text, $2::text, current_schema()::text) AS schema,
         coalesce(relname::text, $3::text) AS table
       FROM (SELECT to_regclass($1) AS oid) AS found
       LEFT JOIN pg_class ON pg_class.oid = found.oid
       LEFT JOIN pg_namespace ON pg_namespace.oid = relnamespace`,
      [quoteTable(table), parts.at(-2) ?? null, parts.at(-1)],
    );
    if (!found || found.schema === null) return undefined;
    const owners = `${quoteName(found.schema)}.${quoteName(OWNERS_TABLE)}`;
    return { table: found.table, column: tokenColumn, owners: { quoted: owners, shown: owners } };
  },
  // Every name is quoted.
  foldsCase: async () => false,
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
