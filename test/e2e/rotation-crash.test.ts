import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { seededRandom } from "../../src/sandbox/faults.ts";
import { rounds } from "../support/long.ts";
import { SEED, SEEDED } from "../support/seed.ts";
import { tcpProxy } from "../support/tcp-proxy.ts";
import { untilQuiet } from "./quiet.ts";
import { aWorld, type ConfigChanges, fromEnvironment, until, type World } from "./world.ts";

const TENANTS = 100;
const LINE = fromEnvironment("LINE_URL");
/** So long does each run wait for the calls of the one that was cut short before it. */
const SHORT_CALLS = { timeout: "1s" };

test.each([
  { kills: rounds(15), concurrency: 1 },
  { kills: rounds(15), concurrency: 4 },
])(
  `$kills kills of rotate --all, $concurrency at a time ${SEEDED}`,
  async ({ kills, concurrency }) => {
    const random = seededRandom(SEED);
    const world = await aWorld({
      tenants: TENANTS,
      config: { rotation: { concurrency }, service: SHORT_CALLS },
    });
    expect((await world.sync()).code).toBe(0);

    let rotated = 0;
    for (let kill = 1; kill <= kills; kill++) {
      rotated += await expectSettled(world, concurrency, async () => {
        const program = world.start("rotate", "--all");
        const early = random() < 0.15;
        const requests = early ? 0 : Math.ceil(random() * TENANTS);
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
  180_000,
);

interface Line {
  readonly what: string;
  readonly cuts: number;
  /** What leads through the line. */
  readonly config: ConfigChanges;
}

test.each<Line>([
  { what: "the service", cuts: rounds(7), config: { service: { ...SHORT_CALLS, base_url: LINE } } },
  { what: "the token table", cuts: rounds(7), config: { tokens: { url: LINE } } },
  {
    what: "token table and ledger",
    cuts: rounds(6),
    config: { tokens: { url: LINE }, ledger: { url: LINE } },
  },
])(
  `$cuts cuts of the line to $what at any byte of rotate --all ${SEEDED}`,
  async ({ what, cuts, config }) => {
    const random = seededRandom(SEED);
    const world = await aWorld({ tenants: TENANTS, config: { service: SHORT_CALLS, ...config } });
    const line = await tcpProxy(what === "the service" ? world.sandbox.baseUrl : world.database.url);
    world.env.LINE_URL = line.url;
    expect((await world.sync()).code).toBe(0);
    line.limit(Number.POSITIVE_INFINITY);
    expect(await world.rotate("--all")).toMatchObject({ code: 0, report: { rotated: TENANTS } });
    const whole = line.passed();

    for (let cut = 1; cut <= cuts; cut++) {
      await expectSettled(world, 1, async () => {
        const bytes = Math.floor(random() * whole);
        line.limit(bytes);
        const program = world.start("rotate", "--all");
        await until(() => program.child.exitCode !== null || line.passed() === bytes);
        await sleep(random() * 100);
        if (random() < 0.5) await program.stop("SIGKILL");
        line.limit(Number.POSITIVE_INFINITY);
        expect([0, 1, null]).toContain((await program.ended).code);
      });
    }
  },
  180_000,
);

/**
 * That one clean sync settles what the disaster left of a rotation of all tokens: each is done, if the service did
 * it, and still due else; none is done again. Resolves to how many are done.
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
  const { by_group, by_operation } = await world.requests();
  expect(by_operation.POST).not.toHaveProperty("404");
  expect(Object.entries(by_group).filter(([, { POST }]) => POST > 1)).toEqual([]);

  const { code, report } = await world.sync();
  expect({ code, report }).toMatchObject({ code: 0, report: { outcome: "ok", rotated: 0, failed: 0 } });
  expect(report.requests).toBeLessThanOrEqual(concurrency);
  expect(await world.live()).toEqual(after);
  expect(await world.stored()).toEqual(after);
  const done = Object.keys(after).filter((id) => after[id] !== before[id]);
  expect(await idsRotatedSince(world, start)).toEqual(done);
  return done.length;
}

const idsRotatedSince = async ({ database }: World, start: Date): Promise<string[]> =>
  (
    await database.query<{ user_group_id: string }>(
      "SELECT user_group_id FROM groupsync_groups WHERE token_since >= $1 ORDER BY user_group_id",
      [start],
    )
  ).map((row) => row.user_group_id);
