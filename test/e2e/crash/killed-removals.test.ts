import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { seededRandom } from "../../../src/sandbox/request-faults.ts";
import { type FreshDatabase, freshDatabase } from "../../support/databases/fresh-database.ts";
import { SEED, SEEDED } from "../../support/databases/seed.ts";
import { LONG, rounds, someOf } from "../../support/long.ts";
import { expectInSync } from "../in-sync.ts";
import type { Ended, Program } from "../program.ts";
import { untilQuiet } from "../quiet.ts";
import { aWorld, fromEnvironment, idOf, until, type World } from "../world.ts";

const TENANTS = 240;
const GONE = 80;
const RENAMED = 80;
/** A create for each tenant that is back, a delete for each missing tenant, and both for each replaced group. */
const REQUESTS = GONE + GONE + 2 * RENAMED;
/** After this number of kills, the run may end by itself. */
const KILLS_IN_A_ROW = 6;

interface Places {
  readonly kills: number;
  /** Ledger and tokens in two databases: no transaction can write to both. */
  readonly apart: boolean;
}

// The moments between two commits are more if ledger and tokens are apart. Each run then waits 30 s for the calls of the killed one.
test.each<Places>(
  someOf([
    { kills: rounds(30), apart: false },
    { kills: rounds(30), apart: true },
  ]),
)(
  `$kills kills of runs that delete and replace leave nothing behind (ledger and tokens apart: $apart) ${SEEDED}`,
  async ({ kills, apart }) => {
    const random = seededRandom(SEED);
    const world = await aWorld({
      tenants: TENANTS,
      service: { latency: { min: 5, max: 20 } },
      config: {
        service: { update: "replace", timeout: "1s" },
        deletion: { grace_period: "0s", limit: { count: 1_000_000, percent: 100 } },
        ...(apart && {
          tokens: { url: fromEnvironment("TOKENS_URL") },
          ledger: { url: fromEnvironment("LEDGER_URL") },
        }),
      },
    });
    const tokens = apart ? await freshDatabase() : world.database;
    const ledger = apart ? await freshDatabase() : world.database;
    Object.assign(world.env, { TOKENS_URL: tokens.url, LEDGER_URL: ledger.url });

    let killed = 0;
    for (let round = 0; killed < kills; round++) {
      await upheaval(world, round, random);
      const isLetBe = round % (KILLS_IN_A_ROW + 1) === 0;
      const { total } = await world.requests();
      const program = world.start("sync", "--json");
      const ended = isLetBe
        ? await program.ended
        : await killSomewhere(program, world, total + lastRequest(killed, random), random);
      if (ended.signal === "SIGKILL") {
        killed++;
        await untilQuiet(world, [world.database, tokens, ledger]);
        // An orphan would be a group that only the service knows.
        const known = new Set(await idsInLedger(ledger));
        expect(Object.keys(await world.live()).filter((id) => !known.has(id))).toEqual([]);
      } else {
        await expectAllThere(ended, world, tokens);
      }
    }

    await expectAllThere(await world.sync(), world, tokens);
    expect(await world.sync()).toMatchObject({ code: 0, report: { outcome: "ok", held: 0, errors: [] } });
    await expectInSync(world, tokens);
    expect(await idsInLedger(ledger)).toEqual(Object.keys(await world.stored(tokens)).sort());
  },
);

/**
 * Expects no orphan, no missing group, and only live tokens in the store. If a creation was killed, nobody knows what
 * it sent: if its tenant has changed since, the next run may have to repair the name.
 */
async function expectAllThere(ended: Ended, world: World, tokens: FreshDatabase): Promise<void> {
  expect([0, 3]).toContain(ended.code);
  expect(ended.stdout).not.toMatch(/"code":"(?!NOT_UPDATED)/);
  const live = await world.live();
  expect(Object.keys(live).sort()).toEqual((await idsOfTenants(world.database)).sort());
  expect(await world.stored(tokens)).toEqual(live);
}

/** Brings back all missing tenants, removes others, and renames others again. */
async function upheaval({ database }: World, round: number, random: () => number): Promise<void> {
  const ids = Array.from({ length: TENANTS }, (_, index) => ({ id: idOf(index + 1), at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ id }) => id);
  const there = new Set(await idsOfTenants(database));
  const back = ids.filter((id) => !there.has(id));
  if (back.length > 0) {
    const rows = back.map((id) => `('${id}', 'Back in round ${round}', 'warehouse', 'gold')`);
    await database.query(
      `INSERT INTO customers (id, company_name, warehouse, plan) VALUES ${rows.join(", ")}`,
    );
  }
  await database.query(`DELETE FROM customers WHERE id IN (${listOf(ids.slice(0, GONE))})`);
  await database.query(
    `UPDATE customers SET company_name = 'Renamed in round ${round}'
     WHERE id IN (${listOf(ids.slice(GONE, GONE + RENAMED))})`,
  );
}

/** The request after which a run is killed: at first while it creates, then while it replaces, then while it deletes. */
function lastRequest(killed: number, random: () => number): number {
  const phases = [0, GONE, GONE + 2 * RENAMED, REQUESTS];
  const [from = 0, to = 0] = phases.slice(killed % 3);
  // In the first half, because more requests end until the kill comes.
  return from + Math.ceil((random() * (to - from)) / 2);
}

/**
 * A kill comes at a point of the run's progress, so it doesn't depend on this machine's speed. In a long run, some come
 * while the program starts and reads.
 */
async function killSomewhere(
  program: Program,
  world: World,
  requests: number,
  random: () => number,
): Promise<Ended> {
  let over = false;
  void program.ended.then(() => {
    over = true;
  });
  const early = LONG && random() < 0.15;
  await until(async () => early || over || (await world.requests()).total >= requests);
  await sleep(random() * (early ? 400 : 10));
  return program.stop("SIGKILL");
}

const listOf = (ids: readonly string[]): string => ids.map((id) => `'${id}'`).join(", ");

const idsOfTenants = async ({ query }: FreshDatabase): Promise<string[]> =>
  (await query<{ id: string }>("SELECT id FROM customers")).map(({ id }) => id);

const idsInLedger = async ({ query }: FreshDatabase): Promise<string[]> =>
  (
    await query<{ user_group_id: string }>(
      "SELECT user_group_id FROM groupsync_groups ORDER BY user_group_id",
    )
  ).map((row) => row.user_group_id);
