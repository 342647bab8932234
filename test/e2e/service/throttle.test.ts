import { expect, test } from "vitest";
import type { SandboxOptions } from "../../../src/sandbox/server.ts";
import { LONG, someOf } from "../../support/long.ts";
import { aWorld } from "../world.ts";

const messages = (stderr: string): readonly string[] =>
  stderr
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line).msg);

/** The engine's tests try many more in virtual time, see adaptive-limits.test.ts. */
const LIMITS: readonly (readonly [string, SandboxOptions])[] = [
  ["so many at once", { concurrencyLimit: 3, latency: { min: 20, max: 20 } }],
  ["a token bucket", { tokenBucket: { rate: { count: 30, perMs: 1_000 }, burst: 30 } }],
  ["a fixed window", { rateLimit: { count: 60, perMs: 3_000 } }],
  ["a limit that says nothing of when", { rateLimit: { count: 60, perMs: 3_000 }, retryAfter: "none" }],
];
const TENANTS = LONG ? 150 : 70;

test.each(someOf(LIMITS))("%s is kept to, and every group gets through", async (_, service) => {
  const world = await aWorld({ tenants: TENANTS, service, config: { service: { concurrency: 16 } } });
  const { code, report } = await world.sync();
  expect(code).toBe(0);
  expect(report).toMatchObject({ created: TENANTS, failed: 0 });
  const { total, refused } = await world.requests();
  expect(refused).toBeGreaterThan(0);
  // All calls in flight are refused when the run meets the limit, and the run meets the limit a few times until it
  // knows it.
  expect(refused).toBeLessThan(4 * 16);
  expect(report.requests).toBe(total);
  expect(await world.stored()).toEqual(await world.live());
});

test("a rate limit is kept to, and the log says why a run waits, and which rate the service allows", async () => {
  const world = await aWorld({
    tenants: 70,
    service: { rateLimit: { count: 60, perMs: 3_000 } },
    config: { service: { concurrency: 8 } },
  });
  const { code, report, stderr } = await world.sync();
  expect(code).toBe(0);
  expect(report).toMatchObject({ created: 70, failed: 0 });
  const { total, refused } = await world.requests();
  expect(refused).toBeGreaterThan(0);
  expect(refused).toBeLessThan(4 * 8);
  expect(report.requests).toBe(total);
  expect(await world.stored()).toEqual(await world.live());
  expect(messages(stderr)).toContainEqual(
    expect.stringMatching(/^waits up to [23](\.\d)? s: the service allows about \d+\/s$/),
  );
});

test("a run that waits an hour for the service ends when it is told to stop", async () => {
  const world = await aWorld({ tenants: 20, service: { rateLimit: { count: 10, perMs: 3_600_000 } } });
  const program = world.start("sync", "--json");
  await expect.poll(() => program.output(), { timeout: 20_000 }).toMatch(/waits up to (59 min|1 h)/);
  const { code, stdout } = await program.stop("SIGTERM");
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ created: 10 });
  expect(await world.stored()).toEqual(await world.live());
});

test("rotations keep to the service's limits too", async () => {
  const world = await aWorld({ tenants: 30 });
  await world.sync();
  await world.serve({ rateLimit: { count: 20, perMs: 2_000 } });
  const { code, report } = await world.rotate("--all");
  expect(code).toBe(0);
  expect(report).toMatchObject({ rotated: 30, failed: 0 });
  expect((await world.requests()).refused).toBeLessThan(5);
  expect(await world.stored()).toEqual(await world.live());
});
