import { expect } from "vitest";
import { PROCESS_LIST } from "../mysql/mysql-server.ts";
import type { FreshDatabase } from "./fresh-database.ts";

/** Ends all other sessions in the database, and waits until they are gone. */
export async function endSessions({ kind, query }: FreshDatabase): Promise<void> {
  if (kind === "postgres") {
    await query(
      "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
    return;
  }
  const others = `SELECT id FROM ${PROCESS_LIST} WHERE db = database() AND id <> connection_id()`;
  for (const { id } of await query<{ id: string }>(others)) await query(`KILL ${id}`);
  await expect.poll(() => query(others)).toEqual([]);
}
