import type { Row, ServerKind, Session } from "../databases/database-server.ts";
import { connectPostgres } from "./postgres-connections.ts";
import { createPostgresDatabase, removePostgresDatabase } from "./postgres-databases.ts";

export const postgresServer: ServerKind = {
  connect: connectPostgres,
  create: createPostgresDatabase,
  remove: removePostgresDatabase,
  sessionsIn: (query, database) =>
    query<Row & Session>(
      `SELECT coalesce(nullif(application_name, ''), '(no application_name)') AS client, state, query
       FROM pg_stat_activity
       WHERE datname = $1 AND backend_type = 'client backend' ORDER BY backend_start`,
      [database],
    ),
};
