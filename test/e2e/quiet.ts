import type { FreshDatabase } from "../support/databases/fresh-database.ts";
import { programSessions } from "./database/database-acts.ts";
import { until, type World } from "./world.ts";

/** Waits until neither the sandbox nor a database is still working for a dead process. */
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
  for (const database of new Set(databases)) {
    await until(async () => (await programSessions(database)).length === 0);
  }
}
