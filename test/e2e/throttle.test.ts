import { expect, test } from "vitest";
import type { SandboxOptions } from "../../src/sandbox/server.ts";
import { aWorld } from "./world.ts";

const messages = (stderr: string): readonly string[] =>
  stderr
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line).msg);

test.each<[string, SandboxOptions]>([
  ["a fixed window", { rateLimit: { count: 60, perMs: 3_000 } }],
  ["a token bucket", { tokenBucket: { rate: { count: 30, perMs: 1_000 }, burst: 30 } }],
  ["so many at once", { concurrencyLimit: 3, latency: { min: 20, max: 20 } }],
  ["a limit that says nothing of when", { rateLimit: { count: 60, perMs: 3_000 }, retryAfter: "none" }],
])("%s is kept to, and every group gets through", async (_, service) => {
  const world = await aWorld({ tenants: 150, service, config: { service: { concurrency: 16 } } });
  const { code, report } = await world.sync();
  expect(code).toBe(0);
  expect(report).toMatchObject({ created: 150, failed: 0 });
  const { total, refused } = await world.requests();
  expect(refused).toBeGreaterThan(0);
  // Whatever is in flight when a limit is met is refused together, and that happens a few times while it is learned.
  expect(refused).toBeLessThan(4 * 16);
  expect(report.requests).toBe(total);
  expect(await world.stored()).toEqual(await world.live());
});

test("it says what it waits for, and what the service allows", async () => {
  const world = await aWorld({
    tenants: 70,
    service: { rateLimit: { count: 60, perMs: 3_000 } },
    config: { service: { concurrency: 8 } },
  });
  const { code, stderr } = await world.sync();
  expect(code).toBe(0);
  expect(messages(stderr)).toContainEqual(
    expect.stringMatching(/^waits [23](\.\d)? s: the service allows about \d+\/s$/),
  );
});

test("a service that asks for an hour doesn't keep a run from ending when it is told to", async () => {
  const world = await aWorld({ tenants: 20, service: { rateLimit: { count: 10, perMs: 3_600_000 } } });
  const program = world.start("sync", "--json");
  await expect.poll(() => program.output(), { timeout: 20_000 }).toMatch(/waits (59 min|1 h)/);
  const { code, stdout } = await program.stop("SIGTERM");
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ created: 10 });
  expect(await world.stored()).toEqual(await world.live());
});

test("rotations keep to the same limits", async () => {
  const world = await aWorld({ tenants: 30 });
  await world.sync();
  await world.serve({ rateLimit: { count: 20, perMs: 2_000 } });
  const { code, report } = await world.rotate("--all");
  expect(code).toBe(0);
  expect(report).toMatchObject({ rotated: 30, failed: 0 });
  expect((await world.requests()).refused).toBeLessThan(5);
  expect(await world.stored()).toEqual(await world.live());
});
