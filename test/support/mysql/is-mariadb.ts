import type { Query } from "../databases/database-server.ts";

/** Whether the server is MariaDB, and neither MySQL itself nor PostgreSQL. */
export async function isMariadb(query: Query): Promise<boolean> {
  const [server] = await query<{ version: string }>("SELECT version() AS version");
  return server?.version.includes("MariaDB") ?? false;
}
