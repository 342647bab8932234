import type { World } from "../world.ts";

/** Moves all times in the ledger this number of hours into the past, as if the hours had passed. */
export async function passHours({ database: { query } }: World, hours: number): Promise<void> {
  const columns = {
    groupsync_scopes: ["healthy_at"],
    groupsync_removals: ["removed_at"],
    groupsync_groups: ["gone_since"],
  };
  for (const [table, names] of Object.entries(columns)) {
    const earlier = names.map((name) => `${name} = ${name} - INTERVAL '${hours}' HOUR`);
    await query(`UPDATE ${table} SET ${earlier.join(", ")}`);
  }
  const groups = await query<{ id: string; state: string }>(
    "SELECT user_group_id AS id, state FROM groupsync_groups",
  );
  for (const { id, state } of groups) {
    const past = state.replace(/(?<="retryAt":")[^"]+/g, (time) => earlierBy(hours, time));
    if (past !== state)
      await query("UPDATE groupsync_groups SET state = $2 WHERE user_group_id = $1", [id, past]);
  }
}

const earlierBy = (hours: number, time: string): string =>
  new Date(Date.parse(time) - hours * 3_600_000).toISOString();

/** Makes the group's token this number of days older. */
export async function passDays({ database }: World, id: string, days: number): Promise<void> {
  await database.query(
    `UPDATE groupsync_groups SET token_since = token_since - INTERVAL '${days}' DAY WHERE user_group_id = $1`,
    [id],
  );
}
