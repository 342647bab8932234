import { expect, test } from "vitest";
import { SEED, SEEDED } from "../../support/databases/seed.ts";
import { LONG } from "../../support/long.ts";
import { expectInSync } from "../in-sync.ts";
import { aWorld } from "../world.ts";

const TENANTS = LONG ? 2_000 : 400;
/** All eight attempts fail for 0.3⁸ of the groups. The next sync settles them. */
const MOST_FAILED = 4;

test(`${TENANTS} tenants end in sync though 30 % of the requests fail, a third of them after their effect ${SEEDED}`, async () => {
  const world = await aWorld({
    tenants: TENANTS,
    service: { shares: { fail: 0.1, "cut-before": 0.1, "cut-after": 0.1 }, seed: SEED },
    config: { service: { concurrency: 64 } },
  });

  const first = await world.sync();
  expect([0, 3]).toContain(first.code);
  expect(first.report.failed).toBeLessThanOrEqual(MOST_FAILED);
  const { total, by_group } = await world.requests();
  expect(first.report.requests).toBe(total);
  expect(Math.max(...Object.values(by_group).map(({ GET }) => GET))).toBeLessThanOrEqual(8);
  // One request for each group, and 0.3 + 0.3² + 0.3³ + … retries.
  expect(total / TENANTS).toBeGreaterThan(1.2);
  expect(total / TENANTS).toBeLessThan(1.7);

  let last = first;
  for (let sync = 2; last.code !== 0 && sync <= 4; sync++) last = await world.sync();
  expect(last).toMatchObject({ code: 0, report: { outcome: "ok", failed: 0, adopted: 0 } });
  await expectInSync(world);
  expect(await world.status()).toMatchObject({ groups: { total: TENANTS, in_sync: TENANTS, failing: 0 } });

  await world.forgetRequests();
  expect(await world.sync()).toMatchObject({ code: 0, report: { unchanged: TENANTS, requests: 0 } });
  console.log(
    `${total} requests for ${TENANTS} groups in ${first.report.duration_ms} ms, ${first.report.failed} left to the next sync`,
  );
});
