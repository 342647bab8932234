import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { parseRateLimit } from "../../../src/core/limits/rate-limit.ts";
import { seededRandom } from "../../../src/sandbox/request-faults.ts";
import { SEED, SEEDED } from "../../support/databases/seed.ts";
import { LONG, rounds, someOf } from "../../support/long.ts";
import { expectInSync } from "../in-sync.ts";
import { untilQuiet } from "../quiet.ts";
import { aWorld, idOf, until, type World } from "../world.ts";

const TENANTS = LONG ? 10_000 : 400;
/** Of each of the four kinds of drift: 5 % of the groups are changed in all. */
const DRIFTED = TENANTS / 80;
const LIMIT = parseRateLimit(LONG ? "250/s" : "1000/s");
const OWN_LIMIT = LONG ? "200/s" : "800/s";

const ids = (from: number, count: number): string[] =>
  Array.from({ length: count }, (_, index) => idOf(from + index));
const ROTATED = ids(1, DRIFTED);
const GONE = ids(1 + DRIFTED, DRIFTED);
const RENAMED = ids(1 + 2 * DRIFTED, DRIFTED);
const REMAPPED = ids(1 + 3 * DRIFTED, DRIFTED);
const OTHERS = ids(1 + 4 * DRIFTED, TENANTS - 4 * DRIFTED);

/** Somebody else changes groups in four ways, by the console of the service. */
async function drift(world: World): Promise<void> {
  const live = await world.live();
  const groups = new Map((await world.groups()).map((group) => [group.user_group_id, group]));
  for (const id of ROTATED) await world.call("POST", { current_token: live[id] });
  for (const id of GONE) await world.call("DELETE", { current_token: live[id], user_group_id: id });
  for (const id of RENAMED)
    await world.call("GET", { ...groups.get(id), user_group_id: id, name: "renamed" });
  for (const id of REMAPPED)
    await world.call("GET", { ...groups.get(id), user_group_id: id, mapping: { "40": "another" } });
}

// In every run, recovery.test.ts refreshes at a service that updates.
test.each(someOf(["keep", "update"] as const))(
  "sync --refresh finds and heals what somebody else changed, at a service that would %s an existing group",
  async (existing) => {
    const world = await aWorld({
      tenants: TENANTS,
      service: { existing: "update" },
      config: { service: { update: "replace", rate_limit: OWN_LIMIT } },
    });
    expect((await world.sync()).code).toBe(0);
    await drift(world);
    await world.serve({ existing, rateLimit: LIMIT });
    const before = await world.live();

    const { code, report } = await world.sync("--refresh");
    const seen = existing === "keep" ? DRIFTED : 0;
    expect({ code, report }).toMatchObject({
      code: seen > 0 ? 3 : 0,
      report: {
        ...{ refreshed: TENANTS, requests: TENANTS, created: 0, updated: 0, replaced: 0, failed: seen },
        drift: { token: DRIFTED, gone: DRIFTED, name: seen },
      },
    });
    expect(await world.stored()).toEqual(await world.live());
    const { by_group } = await world.requests();
    expect(Object.values(by_group).every(({ GET, POST, DELETE }) => GET === 1 && POST + DELETE === 0)).toBe(
      true,
    );
    const live = await world.live();
    expect(OTHERS.filter((id) => live[id] !== before[id])).toEqual([]);

    // The look has repaired names and mappings, or the next sync replaces the groups whose names are wrong: by a DELETE and a
    // GET for each, after one GET that shows whose service this is.
    const next = await world.sync();
    expect(next).toMatchObject({
      code: 0,
      report: { replaced: seen, requests: seen > 0 ? 2 * seen + 1 : 0 },
    });
    const isWrong = new Map(
      (await world.groups()).map(({ user_group_id: id, name, mapping }) => [id, { name, mapping }]),
    );
    expect([...isWrong].filter(([, { name }]) => name === "renamed")).toEqual([]);
    if (existing === "update") return expectInSync(world);
    expect([...isWrong].filter(([, { mapping }]) => mapping["40"] === "another").map(([id]) => id)).toEqual(
      REMAPPED,
    );
  },
);

test(`no token is lost by ${rounds(15)} kills of sync --refresh ${SEEDED}`, async () => {
  const random = seededRandom(SEED);
  const world = await aWorld({
    tenants: 60,
    service: { latency: { min: 2, max: 10 } },
    config: { service: { timeout: "1s" }, deletion: { limit: { count: 1_000, percent: 100 } } },
  });
  expect((await world.sync()).code).toBe(0);
  for (let kill = 1; kill <= rounds(15); kill++) {
    const live = await world.live();
    for (const id of ids(1, 15)) await world.call("POST", { current_token: live[id] });
    for (const id of ids(16, 15)) await world.call("DELETE", { current_token: live[id], user_group_id: id });
    await world.forgetRequests();
    const program = world.start("sync", "--refresh");
    const requests = Math.ceil(random() * 50);
    await until(async () => program.child.exitCode !== null || (await world.requests()).total >= requests);
    await sleep(random() * 10);
    await program.stop("SIGKILL");
    await untilQuiet(world);

    // The refresh was in the ledger before its first request, so a plain sync goes on with it.
    expect((await world.sync()).code).toBe(0);
    await expectInSync(world);
  }
});
