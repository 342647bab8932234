import type { FreshDatabase } from "../support/fresh-database.ts";
import { programSessions } from "./database-acts.ts";
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
  for (const database of new Set(databases)) {
    await until(async () => (await programSessions(database)).length === 0);
  }
}
