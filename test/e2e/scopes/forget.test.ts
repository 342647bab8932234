import { expect, test } from "vitest";
import type { FreshDatabase } from "../../support/databases/fresh-database.ts";
import { aDaemon, EVERY_SECOND } from "../daemon/a-daemon.ts";
import { aWorld, until } from "../world.ts";

test("a daemon that nobody has stopped makes no group anew once its scope is forgotten", async () => {
  const world = await aWorld({ tenants: 3, config: { ...EVERY_SECOND, schedule: "*/3 * * * * *" } });
  const daemon = await aDaemon(world);
  await daemon.ran(1);
  await until(async () => {
    const { code } = await world.run("forget", "default", "--delete-groups", "--yes");
    return code === 0;
  });
  await daemon.says(/somebody has run `groupsync forget`/);
  expect(await world.groups()).toEqual([]);
  await daemon.program.stop("SIGTERM");
  expect(await rowsOf("default", world.database)).toEqual([]);
});

const TABLES = ["groups", "scopes", "former_tokens", "removals", "rejections"];

/** The tables that have a row of the scope, without those of the leases and of the runs. */
async function rowsOf(scope: string, { query }: FreshDatabase): Promise<readonly string[]> {
  const found: string[] = [];
  for (const table of TABLES) {
    const rows = await query(`SELECT 1 AS one FROM groupsync_${table} WHERE scope = $1`, [scope]);
    if (rows.length > 0) found.push(table);
  }
  return found;
}
