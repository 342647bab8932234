import type { World } from "../world.ts";

const HOUR = 3_600_000;

/** Moves the times in the ledger this number of hours into the past, as if the hours had passed. */
export async function passHours(world: World, hours: number): Promise<void> {
  const { query } = world.database;
  const columns = { groupsync_removals: "removed_at", groupsync_groups: "gone_since" };
  for (const [table, name] of Object.entries(columns))
    await query(`UPDATE ${table} SET ${name} = ${name} - INTERVAL '${hours}' HOUR`);
  await passIn(world, "groupsync_groups", "user_group_id", "retryAt", hours);
  await passIn(world, "groupsync_scopes", "scope", "healthyAt", hours);
}

/** As if the service had last answered an hour before. */
export const passSinceAnswer = (world: World): Promise<void> =>
  passIn(world, "groupsync_scopes", "scope", "answeredAt", 1);

async function passIn(
  { database: { query } }: World,
  table: string,
  key: string,
  member: string,
  hours: number,
): Promise<void> {
  const rows = await query<{ id: string; state: string }>(`SELECT ${key} AS id, state FROM ${table}`);
  const times = new RegExp(`(?<="${member}":")[^"]+`, "g");
  for (const { id, state } of rows) {
    const past = state.replace(times, (time) => new Date(Date.parse(time) - hours * HOUR).toISOString());
    if (past !== state) await query(`UPDATE ${table} SET state = $2 WHERE ${key} = $1`, [id, past]);
  }
}

/** Makes the group's token this number of days older. */
export async function passDays({ database }: World, id: string, days: number): Promise<void> {
  await database.query(
    `UPDATE groupsync_groups SET token_since = token_since - INTERVAL '${days}' DAY WHERE user_group_id = $1`,
    [id],
  );
}
