import type { World } from "./world.ts";

/** Moves all that the ledger remembers so many hours into the past, as if they had gone by since. */
export async function passHours({ database: { query } }: World, hours: number): Promise<void> {
  const columns = {
    groupsync_evidence: ["healthy_at"],
    groupsync_removals: ["removed_at"],
    groupsync_groups: ["missing_since", "retry_at"],
  };
  for (const [table, names] of Object.entries(columns)) {
    const earlier = names.map((name) => `${name} = ${name} - make_interval(hours => $1)`);
    await query(`UPDATE ${table} SET ${earlier.join(", ")}`, [hours]);
  }
}
