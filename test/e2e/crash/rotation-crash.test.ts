import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { seededRandom } from "../../../src/sandbox/request-faults.ts";
import { SEED, SEEDED } from "../../support/databases/seed.ts";
import { rounds, someOf } from "../../support/long.ts";
import { tcpProxy } from "../../support/servers/tcp-proxy.ts";
import { untilQuiet } from "../quiet.ts";
import { aWorld, type ConfigChanges, fromEnvironment, until, type World } from "../world.ts";

const TENANTS = 100;
/** Slow enough for a kill in the middle of the rotations. */
const LATENCY = { min: 2, max: 10 };
const LINE = fromEnvironment("LINE_URL");
/**
 * Short, because each run waits this long for the calls of the killed run before it; and longer than the sandbox may be held up on a
 * busy machine: a POST that is answered too late is followed by another one.
 */
const SHORT_CALLS = { timeout: "3s" };

test.each(
  someOf([
    { kills: rounds(15), concurrency: 4 },
    { kills: rounds(15), concurrency: 1 },
  ]),
)(
  `every stored token is live after $kills kills of rotate --all, $concurrency at a time ${SEEDED}`,
  async ({ kills, concurrency }) => {
    const random = seededRandom(SEED);
    const world = await aWorld({
      tenants: TENANTS,
      service: { latency: LATENCY },
      config: { rotation: { concurrency }, service: SHORT_CALLS },
    });
    expect((await world.sync()).code).toBe(0);

    let rotated = 0;
    for (let kill = 1; kill <= kills; kill++) {
      rotated += await expectSettled(world, concurrency, async () => {
        const program = world.start("rotate", "--all", "--yes");
        const early = kill < kills && random() < 0.15;
        // The last kill comes when some rotations are done for sure, and others are not.
        const most = kill === kills ? TENANTS / 2 : TENANTS;
        const least = kill === kills ? kills + concurrency : 0;
        const requests = early ? 0 : least + Math.ceil(random() * (most - least));
        await until(
          async () => program.child.exitCode !== null || (await world.requests()).total >= requests,
        );
        await sleep(random() * (early ? 400 : 10));
        await program.stop("SIGKILL");
      });
    }
    expect(rotated).toBeGreaterThan(kills);
    expect(rotated).toBeLessThan(kills * TENANTS);
  },
);

interface Line {
  readonly what: string;
  readonly cuts: number;
  /** What leads through the line. */
  readonly config: ConfigChanges;
}

// With the tokens outside of the ledger's database, each sync waits 30 s for the calls of the killed run.
test.each<Line>(
  someOf(
    [
      { what: "the service", cuts: rounds(7), config: { service: { ...SHORT_CALLS, base_url: LINE } } },
      {
        what: "token table and ledger",
        cuts: rounds(6),
        config: { tokens: { url: LINE }, ledger: { url: LINE } },
      },
      { what: "the token table", cuts: rounds(7), config: { tokens: { url: LINE } } },
    ],
    2,
  ),
)(
  `every stored token is live after $cuts cuts of the connection to $what during rotate --all ${SEEDED}`,
  async ({ what, cuts, config }) => {
    const random = seededRandom(SEED);
    const world = await aWorld({ tenants: TENANTS, config: { service: SHORT_CALLS, ...config } });
    const line = await tcpProxy(what === "the service" ? world.sandbox.baseUrl : world.database.url);
    world.env.LINE_URL = line.url;
    line.limit(Number.POSITIVE_INFINITY);
    expect((await world.sync()).code).toBe(0);
    // A rotation's answers are about as long as those of the first sync.
    const whole = line.passed();

    for (let cut = 1; cut <= cuts; cut++) {
      await expectSettled(world, 1, async () => {
        const bytes = Math.floor(random() * whole);
        line.limit(bytes);
        const program = world.start("rotate", "--all", "--yes");
        await until(() => program.child.exitCode !== null || line.passed() === bytes);
        await sleep(random() * 100);
        if (cut % 2 === 1) await program.stop("SIGKILL");
        line.limit(Number.POSITIVE_INFINITY);
        expect([0, 1, null]).toContain((await program.ended).code);
      });
    }
  },
);

/**
 * Expects that one clean sync goes on with what the crash left of a rotation of all tokens, if it had been committed that they
 * are wanted. Only a token whose rotation was cut off is rotated twice. Resolves to the number of rotations before the sync.
 */
async function expectSettled(
  world: World,
  concurrency: number,
  disaster: () => Promise<void>,
): Promise<number> {
  const before = await world.live();
  const start = new Date();
  await world.forgetRequests();
  await disaster();
  await untilQuiet(world);
  const after = await world.live();

  const { code, report } = await world.sync();
  expect({ code, report }).toMatchObject({ code: 0, report: { outcome: "ok", failed: 0, wanted: 0 } });
  const { by_group, by_operation } = await world.requests();
  expect(by_operation.POST).not.toHaveProperty("404");
  const twice = Object.values(by_group).filter(({ POST }) => POST > 1);
  expect(twice.length).toBeLessThanOrEqual(concurrency);
  const live = await world.live();
  expect(await world.stored()).toEqual(live);
  const differing = (now: typeof live): string[] => Object.keys(now).filter((id) => now[id] !== before[id]);
  const isAsked = differing(live).length > 0;
  expect(differing(live)).toEqual(isAsked ? Object.keys(live) : []);
  expect(await idsRotatedSince(world, start)).toEqual(differing(live));
  return differing(after).length;
}

const idsRotatedSince = async ({ database }: World, start: Date): Promise<string[]> =>
  (
    await database.query<{ user_group_id: string }>(
      "SELECT user_group_id FROM groupsync_groups WHERE token_since >= $1 ORDER BY user_group_id",
      [start],
    )
  ).map((row) => row.user_group_id);
