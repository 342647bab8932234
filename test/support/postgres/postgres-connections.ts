import pg from "pg";
import type { Connections, Row } from "../databases/database-server.ts";

export function connectPostgres(url: string): Connections {
  const pool = new pg.Pool({ connectionString: url, max: 1, application_name: "groupsync tests" });
  // A test may end every session of its database on purpose: the next query is what has to work.
  pool.on("error", () => {});
  return {
    query: async <R extends Row>(text: string, values: readonly unknown[] = []) =>
      (await pool.query<R>(text, [...values])).rows,
    end: () => pool.end(),
  };
}
