import { describe, expect, it } from "vitest";
import { ServiceFailure, type ServiceFailureCode } from "../../src/core/service-failure.ts";
import type { Point } from "../fakes/instance.ts";
import { tenants, World } from "../fakes/world.ts";

const HOUR = 3_600_000;
const CODES: ServiceFailureCode[] = ["SERVICE_ERROR", "TIMEOUT", "BAD_RESPONSE", "OVERLOADED"];

/** Has every GET for these groups fail, as a service does that can't bear something about them. */
const refusing =
  (code: ServiceFailureCode, ...ids: string[]) =>
  ({ when, call, id = "" }: Point): void => {
    if (when === "before" && call === "getOrCreate" && ids.includes(id)) throw new ServiceFailure(code, code);
  };

const groups = (world: World): string[] => [...world.service.groups.keys()].sort();

describe.each(CODES)("where a new service always fails with %s for the first tenants", (code) => {
  it.each([5, 6, 12])("a schedule of syncs gets past %s of them", async (count) => {
    const bad = Array.from({ length: count }, (_, n) => `bad ${String(n).padStart(2, "0")}`);
    const good = ["good 1", "good 2", "good 3"];
    const world = new World(tenants(...bad, ...good));
    expect(await world.sync({ at: refusing(code, ...bad) })).toMatchObject({
      outcome: "failed",
      error: { code: "SERVICE_UNAVAILABLE" },
    });
    // Every wait after a failure is over each time.
    for (let syncs = 0; syncs < 6; syncs++) {
      await world.time.sleep(HOUR);
      await world.sync({ at: refusing(code, ...bad) });
    }
    expect(groups(world)).toEqual(good);

    world.tenants = tenants(...bad, ...good, "new");
    await world.time.sleep(HOUR);
    world.service.requests.length = 0;
    await world.sync({ at: refusing(code, ...bad) });
    expect(groups(world)).toContain("new");
  });
});

it("a new tenant gets its group before what has failed before is settled", async () => {
  const world = new World(tenants("a", "b"));
  await world.sync({ at: refusing("SERVICE_ERROR", "a") });
  world.tenants = tenants("a", "b", "new");
  const { instance, report } = world.start({ at: refusing("SERVICE_ERROR", "a") });
  expect(await report).toMatchObject({ outcome: "partial", counts: { created: 1, failed: 1 } });
  const calls = instance.history("before getOrCreate");
  expect(calls[0]).toBe("before getOrCreate new");
});
