import { expect, test } from "vitest";
import { seededRandom } from "../../../src/sandbox/request-faults.ts";
import { SEED, SEEDED } from "../../support/databases/seed.ts";
import { rounds } from "../../support/long.ts";
import { tcpProxy } from "../../support/servers/tcp-proxy.ts";
import { expectInSync } from "../in-sync.ts";
import { aWorld, fromEnvironment } from "../world.ts";

/** More than one batch of rows. */
const TENANTS = 2_500;
const CUTS = rounds(20);

test(`a read that breaks off at any byte deletes no group, though half of the tenants are gone ${SEEDED}`, async () => {
  const random = seededRandom(SEED);
  const world = await aWorld({
    tenants: TENANTS,
    config: {
      tokens: { url: fromEnvironment("DIRECT_URL") },
      ledger: { url: fromEnvironment("DIRECT_URL") },
      deletion: { grace_period: "0s", limit: { count: TENANTS, percent: 100 } },
    },
  });
  const line = await tcpProxy(world.database.url);
  Object.assign(world.env, { DATABASE_URL: line.url, DIRECT_URL: world.database.url });
  expect((await world.sync()).code).toBe(0);
  await world.database.query("DELETE FROM customers WHERE substr(id, 7) IN ('0', '2', '4', '6', '8')");
  await world.forgetRequests();
  const before = await world.live();

  // A plan reads what a sync reads, and leaves everything as it is.
  line.limit(Number.POSITIVE_INFINITY);
  const planned = await world.plan();
  const wholeRead = line.passed();
  expect(planned.delete).toHaveLength(TENANTS / 2);

  for (let cut = 1; cut <= CUTS; cut++) {
    const bytes = Math.floor(random() * wholeRead);
    line.limit(bytes);
    const { code, report } = await world.sync();
    expect({ bytes, code, report }).toMatchObject({
      code: 1,
      report: { outcome: "failed", deleted: 0, requests: 0, errors: [{ code: "SOURCE_UNAVAILABLE" }] },
    });
    expect(line.passed()).toBe(bytes);
  }
  expect(await world.requests()).toMatchObject({ total: 0 });
  expect(await world.live()).toEqual(before);
  expect(await world.stored()).toEqual(before);

  line.limit(Number.POSITIVE_INFINITY);
  expect(await world.plan()).toEqual(planned);
  expect(await world.sync()).toMatchObject({
    code: 0,
    report: { outcome: "ok", deleted: TENANTS / 2, unchanged: TENANTS / 2 },
  });
  await expectInSync(world);
});
