import { expect, test } from "vitest";
import { aWorld } from "../world.ts";

const messages = (stderr: string): readonly string[] =>
  stderr
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line).msg);

// The engine's tests try many more limits in virtual time, see adaptive-limits.test.ts.
test("a rate limit is kept to, and the log says why a run waits", async () => {
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
    // Which of the two depends on how soon the limit is met.
    expect.stringMatching(/^waits up to [\d.]+ m?s: the service (asked to slow down|allows about \d+\/s)$/),
  );
});
