import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { seededRandom } from "../../../src/sandbox/request-faults.ts";
import { freshDatabase } from "../../support/databases/fresh-database.ts";
import { SEED, SEEDED } from "../../support/databases/seed.ts";
import { rounds } from "../../support/long.ts";
import { tablesIn } from "../database/database-acts.ts";
import { untilQuiet } from "../quiet.ts";
import { aWorld, until, type World } from "../world.ts";

const KILLS = rounds(20);
/** The requests that a run makes at most before it is killed. */
const MOST_REQUESTS = 200;
/** Too many for the killed runs. */
const TENANTS = MOST_REQUESTS * (KILLS + 1);
const CONCURRENCY = 8;
/** After so many requests something is recorded: see UNRECORDED_AT_FIRST in src/engine/apply/outcome-recorder.ts. */
const SURELY_RECORDED = 8 * CONCURRENCY + CONCURRENCY;

test(`a first sync that is killed ${KILLS} times ends in sync ${SEEDED}`, async () => {
  const random = seededRandom(SEED);
  const world = await aWorld({
    database: await freshDatabase(),
    tenants: TENANTS,
    service: { latency: { min: 5, max: 25 } },
    config: { service: { concurrency: CONCURRENCY, timeout: "1s" } },
  });

  const requestsWhenStored = new Map<string, number>();
  for (let kill = 1; kill <= KILLS; kill++) {
    const { total } = await world.requests();
    const program = world.start("sync");
    await aRandomMoment(world, total, kill, random);
    expect((await program.stop("SIGKILL")).signal).toBe("SIGKILL");
    await untilQuiet(world);

    const made = Object.keys(await world.live());
    const stored = new Set(await storedIds(world));
    // An orphan would be a group that only the service knows.
    const known = new Set(await ledgerIds(world));
    expect(made.filter((id) => !known.has(id))).toEqual([]);

    const { by_group } = await world.requests();
    for (const id of stored) {
      if (!requestsWhenStored.has(id)) requestsWhenStored.set(id, by_group[id]?.GET ?? 0);
    }
  }
  const madeByTheKilled = requestsWhenStored.size;
  expect(madeByTheKilled).toBeGreaterThan(0);
  expect(madeByTheKilled).toBeLessThan(TENANTS);

  const last = await world.sync();
  expect(last.code).toBe(0);
  expect(last.report).toMatchObject({ outcome: "ok", unchanged: madeByTheKilled, failed: 0, adopted: 0 });

  const groups = await world.groups();
  expect(new Set(groups.map((group) => group.user_group_id)).size).toBe(groups.length);
  expect(groups).toHaveLength(TENANTS);
  expect(await world.stored()).toEqual(await world.live());
  expect(await ledgerIds(world)).toEqual(await storedIds(world));

  const { by_group, by_operation } = await world.requests();
  expect(by_operation).toMatchObject({ POST: {}, DELETE: {} });
  const askedAgain = [...requestsWhenStored].filter(([id, requests]) => by_group[id]?.GET !== requests);
  expect(askedAgain).toEqual([]);
});

/**
 * Every fourth kill comes while the program starts and reads. The others come at a point of its progress, so they don't
 * depend on this machine's speed; the last one comes when something is recorded for sure.
 */
async function aRandomMoment(
  world: World,
  before: number,
  kill: number,
  random: () => number,
): Promise<void> {
  const early = kill % 4 === 1;
  const least = kill === KILLS ? SURELY_RECORDED : 0;
  const requests = early ? 0 : least + Math.ceil(random() * (MOST_REQUESTS - least));
  await until(async () => (await world.requests()).total >= before + requests);
  await sleep(random() * (early ? 400 : 20));
}

const storedIds = (world: World): Promise<string[]> => idsIn(world, "groupsync_tokens");
const ledgerIds = (world: World): Promise<string[]> => idsIn(world, "groupsync_groups");

/** The ids in the table; none if the table doesn't exist yet. */
async function idsIn({ database }: World, table: string): Promise<string[]> {
  if (!(await tablesIn(database)).includes(table)) return [];
  const rows = await database.query<{ user_group_id: string }>(
    `SELECT user_group_id FROM ${table} ORDER BY user_group_id`,
  );
  return rows.map((row) => row.user_group_id);
}
