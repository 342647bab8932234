import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { seededRandom } from "../../../src/sandbox/request-faults.ts";
import { SEED, SEEDED } from "../../support/databases/seed.ts";
import { rounds } from "../../support/long.ts";
import { expectInSync } from "../in-sync.ts";
import { untilQuiet } from "../quiet.ts";
import { aWorld, idOf, until } from "../world.ts";

const ids = (from: number, count: number): string[] =>
  Array.from({ length: count }, (_, index) => idOf(from + index));

// recovery.test.ts has a refresh that ends.
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
