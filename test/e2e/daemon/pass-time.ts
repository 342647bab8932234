import type { World } from "../world.ts";

/** Moves all times in the ledger this number of hours into the past, as if the hours had passed. */
export async function passHours({ database: { query } }: World, hours: number): Promise<void> {
  const columns = {
    groupsync_evidence: ["healthy_at"],
    groupsync_removals: ["removed_at"],
    groupsync_groups: ["missing_since", "change_retry_at"],
  };
  for (const [table, names] of Object.entries(columns)) {
    const earlier = names.map((name) => `${name} = ${name} - INTERVAL '${hours}' HOUR`);
    await query(`UPDATE ${table} SET ${earlier.join(", ")}`);
  }
}

/** Makes the group's token this number of days older. */
export async function passDays({ database }: World, id: string, days: number): Promise<void> {
  await database.query(
    `UPDATE groupsync_groups SET token_since = token_since - INTERVAL '${days}' DAY WHERE user_group_id = $1`,
    [id],
  );
}
