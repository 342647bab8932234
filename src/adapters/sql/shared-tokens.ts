import type { Database } from "./database.ts";
import type { LedgerTables } from "./ledger-tables.ts";

/** See `LedgerView.sharedTokens`; `tokens` has fingerprints by id. */
export async function sharedTokens(
  database: Database,
  { groups }: LedgerTables,
  scope: string,
  tokens: ReadonlyMap<string, string>,
  of: "recorded" | "all",
): Promise<ReadonlySet<string>> {
  // Two look-ups, each by its own index.
  const having = (column: string): string =>
    `SELECT user_group_id AS "id", ${column} AS "token" FROM ${groups}
     WHERE scope = $1 AND ${database.dialect.isOneOf(column, "$2")}`;
  const columns = of === "all" ? ["token_fingerprint", "shared_token"] : ["token_fingerprint"];
  const rows = await database.query<{ id: string; token: string }>(columns.map(having).join(" UNION ALL "), [
    scope,
    [...tokens.values()],
  ]);
  const shared = [...tokens].filter(([id, token]) =>
    rows.some((row) => row.token === token && row.id !== id),
  );
  return new Set(shared.map(([id]) => id));
}
