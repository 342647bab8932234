import type { Queryable } from "../sql/connections.ts";
import { isMissingTable } from "./failures.ts";

/** The dialect's `tableExists`. Rejects where this user may not read the table, or not know whether there is one. */
export async function tableExists(database: Queryable, table: string): Promise<boolean> {
  try {
    await database.query(`SELECT 1 FROM ${table} WHERE FALSE`);
    return true;
  } catch (error) {
    if (isMissingTable(error)) return false;
    throw error;
  }
}
