import type { Query } from "../../support/fresh-database.ts";

/** Whether the server is MySQL itself: neither MariaDB nor PostgreSQL. */
export async function isMysqlItself(query: Query): Promise<boolean> {
  const [server] = await query<{ version: string }>("SELECT version() AS version");
  return !/MariaDB|PostgreSQL/.test(server?.version ?? "");
}
