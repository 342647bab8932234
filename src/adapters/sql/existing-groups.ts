import type { ExistingOptions } from "../../ports/rotation.ts";
import type { Database } from "./database.ts";
import type { LedgerTables } from "./ledger-tables.ts";

type Which = Pick<ExistingOptions, "liveSince" | "of" | "underWay">;

/** A page of the groups that the service has, or may have. */
export async function existingGroups(
  database: Database,
  { groups }: LedgerTables,
  scope: string,
  { limit, after, ...which }: ExistingOptions,
): Promise<string[]> {
  const { text, values } = condition(database, which, 4);
  const rows = await database.query<{ user_group_id: string }>(
    `SELECT user_group_id FROM ${groups}
     WHERE scope = $1 AND user_group_id > $2 AND ${text} ORDER BY user_group_id LIMIT $3`,
    [scope, after ?? "", limit, ...values],
  );
  return rows.map((row) => row.user_group_id);
}

export async function existingCount(
  database: Database,
  { groups }: LedgerTables,
  scope: string,
  which: Which,
): Promise<number> {
  const { text, values } = condition(database, which, 2);
  const [row] = await database.query<{ count: string }>(
    `SELECT count(*) AS "count" FROM ${groups} WHERE scope = $1 AND ${text}`,
    [scope, ...values],
  );
  return Number(row?.count ?? 0);
}

/** `first` is the number of its first parameter. */
function condition(
  { dialect }: Database,
  { of, liveSince, underWay }: Which,
  first: number,
): { text: string; values: unknown[] } {
  const conditions = ["(intent <> 'remove' OR (intent IS NULL AND fingerprint IS NOT NULL))"];
  const values: unknown[] = [];
  const parameter = (value: unknown): string => `$${first + values.push(value) - 1}`;
  if (underWay !== undefined) conditions.push("intent IS NOT NULL");
  if (underWay === "another change") conditions.push("intent <> 'rotate'");
  if (of !== undefined) conditions.push(dialect.isOneOf("user_group_id", parameter(of)));
  if (liveSince !== undefined) {
    // What has neither is no reason to pass a group over.
    const since = "coalesce(token_since, intent_at)";
    conditions.push(`(${since} IS NULL OR ${since} <= ${parameter(liveSince)})`);
  }
  return { text: conditions.join(" AND "), values };
}
