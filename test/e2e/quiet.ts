import type { FreshDatabase } from "../support/fresh-database.ts";
import { until, type World } from "./world.ts";

/** Until neither the sandbox nor a database works for a dead process any more. */
export async function untilQuiet(
  world: World,
  databases: readonly FreshDatabase[] = [world.database],
): Promise<void> {
  await until(async () => {
    const { total, by_group } = await world.requests();
    const begun = Object.values(by_group).reduce(
      (sum, { GET, POST, DELETE }) => sum + GET + POST + DELETE,
      0,
    );
    return total >= begun;
  });
  for (const { query } of new Set(databases)) {
    await until(
      async () =>
        (
          await query(
            `SELECT 1 FROM pg_stat_activity
             WHERE datname = current_database() AND application_name LIKE 'groupsync:%'`,
          )
        ).length === 0,
    );
  }
}
