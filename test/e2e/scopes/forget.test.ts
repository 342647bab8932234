import { expect, test } from "vitest";
import type { FreshDatabase } from "../../support/databases/fresh-database.ts";
import { aDaemon, EVERY_SECOND } from "../daemon/a-daemon.ts";
import { dump } from "../dump.ts";
import { aWorld, until } from "../world.ts";

test("forget --delete-groups deletes the groups and tokens of its scope alone, also after it was killed", async () => {
  const production = await aWorld({ tenants: 60, config: { name: "production" } });
  const config = { name: "staging", tokens: { table: "staging_tokens" } };
  const staging = await aWorld({ tenants: 0, service: { teamId: 2 }, config });
  staging.env.DATABASE_URL = production.database.url;
  await production.sync();
  await staging.sync();
  const theirs = await ofProduction(production.database);
  const live = await production.live();
  await staging.serve({ teamId: 2, latency: { min: 20, max: 40 } });
  await staging.forgetRequests();
  const killed = staging.start("forget", "staging", "--delete-groups", "--yes");
  await until(async () => (await staging.groups()).length < 50);
  await killed.stop("SIGKILL");
  const left = (await staging.groups()).length;
  expect(left).toBeGreaterThan(0);
  await production.database.query("UPDATE groupsync_leases SET expires_at = expires_at - INTERVAL '1' HOUR");

  const done = await staging.run("forget", "staging", "--delete-groups", "--yes", "--json");
  expect(done.code).toBe(0);
  expect(JSON.parse(done.stdout)).toMatchObject({ scope: "staging", forgotten: true, failed: 0, errors: [] });
  expect(await staging.groups()).toEqual([]);
  expect(await production.database.query("SELECT * FROM staging_tokens")).toEqual([]);
  expect(await rowsOf("staging", production.database)).toEqual([]);
  expect(await production.live()).toEqual(live);
  const { owners: _before, leases: _leases, ...others } = theirs;
  expect(await ofProduction(production.database)).toMatchObject(others);
  expect(await production.sync()).toMatchObject({ code: 0, report: { unchanged: 60, requests: 0 } });
});

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

const TABLES = ["groups", "scopes", "former_tokens", "removals", "rejections", "runs", "leases"];

/** All that the ledger has of production, its tokens, and the marks of all token tables. */
async function ofProduction(database: FreshDatabase): Promise<Readonly<Record<string, readonly unknown[]>>> {
  const kept: Record<string, readonly unknown[]> = {};
  for (const table of TABLES) {
    const rows = await database.query(`SELECT * FROM groupsync_${table} WHERE scope = 'production'`);
    kept[table] = rows.map((row) => JSON.stringify(row)).toSorted();
  }
  const { groupsync_tokens: tokens, groupsync_token_owners: owners } = await dump(database);
  return { ...kept, tokens: tokens ?? [], owners: owners ?? [] };
}

/** The tables that have a row of the scope, without those of the leases and of the runs. */
async function rowsOf(scope: string, { query }: FreshDatabase): Promise<readonly string[]> {
  const found: string[] = [];
  for (const table of TABLES.slice(0, -2)) {
    const rows = await query(`SELECT 1 AS one FROM groupsync_${table} WHERE scope = $1`, [scope]);
    if (rows.length > 0) found.push(table);
  }
  return found;
}
