import type { FreshDatabase } from "../../support/databases/fresh-database.ts";
import { LEDGER_TABLES } from "../ledger-tables.ts";

export const LEDGER = LEDGER_TABLES.map((name) => `groupsync_${name}`);
export const TOKENS = ["groupsync_tokens", "groupsync_token_owners"];

/** Copies these tables, and resolves to what puts the copies back. */
export async function backUp(
  { kind, query }: Pick<FreshDatabase, "kind" | "query">,
  tables: readonly string[],
): Promise<() => Promise<void>> {
  for (const table of tables) await query(`CREATE TABLE backup_of_${table} AS SELECT * FROM ${table}`);
  const withItsIds = kind === "postgres" ? "OVERRIDING SYSTEM VALUE" : "";
  return async () => {
    for (const table of tables) {
      await query(`DELETE FROM ${table}`);
      await query(`INSERT INTO ${table} ${withItsIds} SELECT * FROM backup_of_${table}`);
    }
  };
}

/** Drops these tables, as a disaster may. */
export async function lose(
  { query }: Pick<FreshDatabase, "query">,
  tables: readonly string[],
): Promise<void> {
  for (const table of tables) await query(`DROP TABLE ${table}`);
}
