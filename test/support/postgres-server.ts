import pg from "pg";
import type { Row, ServerKind, Session } from "./database-server.ts";

export const postgresServer: ServerKind = {
  connect(url) {
    const pool = new pg.Pool({ connectionString: url, max: 1, application_name: "groupsync tests" });
    // A test may end every session of its database on purpose: the next query is what has to work.
    pool.on("error", () => {});
    return {
      query: async <R extends Row>(text: string, values: readonly unknown[] = []) =>
        (await pool.query<R>(text, [...values])).rows,
      end: () => pool.end(),
    };
  },
  create: (database) => `CREATE DATABASE ${database}`,
  drop: (database) => `DROP DATABASE ${database} WITH (FORCE)`,
  sessionsIn: (query, database) =>
    query<Row & Session>(
      `SELECT coalesce(nullif(application_name, ''), '(no application_name)') AS client, state, query
       FROM pg_stat_activity
       WHERE datname = $1 AND backend_type = 'client backend' ORDER BY backend_start`,
      [database],
    ),
};
