import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { seededRandom } from "../../../src/sandbox/request-faults.ts";
import { SEED, SEEDED } from "../../support/databases/seed.ts";
import { LONG } from "../../support/long.ts";
import { type TcpProxy, tcpProxy } from "../../support/servers/tcp-proxy.ts";
import { expectInSync } from "../in-sync.ts";
import { untilQuiet } from "../quiet.ts";
import { aWorld, type ConfigChanges, fromEnvironment, until, type World } from "../world.ts";

const TENANTS = 200;
const ROUNDS = 12;

interface Line {
  readonly to: string;
  /** What leads through the line. */
  readonly config: ConfigChanges;
}

const LINE = fromEnvironment("LINE_URL");
const LINES: readonly Line[] = [
  { to: "the service", config: { service: { base_url: LINE, timeout: "1s" } } },
  {
    to: "the database",
    config: {
      service: { timeout: "1s" },
      source: { url: LINE },
      ledger: { url: LINE },
      tokens: { url: LINE },
    },
  },
];

// All at the same time, because most of the time passes in waits.
test.runIf(LONG)(
  `after a connection to the service or the database that was slow, cut or silent, the next sync settles all changes; a run whose database stays silent ends ${SEEDED}`,
  async () => {
    await Promise.all([...LINES.map(settleAfterBadLine), endIfSilent()]);
  },
  600_000,
);

async function settleAfterBadLine({ to, config }: Line): Promise<void> {
  const random = seededRandom(SEED);
  const world = await aWorld({
    tenants: TENANTS,
    service: { existing: "update" },
    config: { deletion: { grace_period: "0s", limit: { count: TENANTS, percent: 100 } }, ...config },
  });
  const line = await tcpProxy(to === "the service" ? world.sandbox.baseUrl : world.database.url);
  world.env.LINE_URL = line.url;
  expect((await world.sync()).code).toBe(0);
  const whole = Math.max(line.passed(), 1);

  for (let round = 1; round <= ROUNDS; round++) {
    await changeTenants(world, round);
    const program = world.start("sync");
    await spoil(line, whole, random, () => program.child.exitCode !== null);
    // The run may still be waiting for an answer that was lost, or be at work again.
    if (random() < 0.5) await program.stop("SIGKILL");
    repair(line);
    expect([0, 1, 3, null], `a bad line to ${to}`).toContain((await program.ended).code);
    await untilQuiet(world);

    const { code, report } = await world.sync();
    expect({ to, code, report }).toMatchObject({ code: 0, report: { outcome: "ok", failed: 0 } });
    await expectInSync(world);
  }
}

async function endIfSilent(): Promise<void> {
  const world = await aWorld({
    tenants: TENANTS,
    config: { service: { timeout: "1s" }, ledger: { url: LINE }, tokens: { url: LINE } },
  });
  const line = await tcpProxy(world.database.url);
  world.env.LINE_URL = line.url;
  await world.serve({ latency: { min: 20, max: 20 } });
  const program = world.start("sync");
  await until(async () => (await world.requests()).total >= 20);
  line.swallow(true);
  const { code, stdout } = await program.ended;
  expect({ code, stdout }).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/the lease was lost|cannot (read|write) (the ledger|tokens)/),
  });
  repair(line);
  await untilQuiet(world);
  expect((await world.sync()).code).toBe(0);
  await expectInSync(world);
}

/** Renames some tenants, removes some, and adds as many new ones. */
async function changeTenants(world: World, round: number): Promise<void> {
  const first = 1 + (((round - 1) * 10) % TENANTS);
  await world.removeTenants(first, first + 4);
  await world.database.query("UPDATE customers SET company_name = company_name || '+' WHERE id LIKE $1", [
    `%${round % 10}`,
  ]);
  await world.addTenants(TENANTS + round * 5, TENANTS + round * 5 + 4);
}

/** Disturbs the connection from a random byte on, in a random way. */
async function spoil(
  line: TcpProxy,
  whole: number,
  random: () => number,
  isOver: () => boolean,
): Promise<void> {
  const bytes = Math.floor(random() * whole * 0.5);
  const before = line.passed();
  const way = Math.floor(random() * 3);
  if (way === 0) return line.delay(1 + random() * 30);
  if (way === 1) {
    line.limit(bytes);
    await until(() => isOver() || line.passed() >= bytes);
    return void (await sleep(random() * 500));
  }
  await until(() => isOver() || line.passed() >= before + bytes);
  line.swallow(true);
  await sleep(random() * 2_500);
}

function repair(line: TcpProxy): void {
  line.delay(0);
  line.swallow(false);
  line.limit(Number.POSITIVE_INFINITY);
}
