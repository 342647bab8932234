import { describe, expect, it } from "vitest";
import { ServiceFailure } from "../../../src/core/failure/service-failure.ts";
import type { Point } from "../../fakes/instance.ts";
import { tenants, World } from "../../fakes/world.ts";
import { aSession, asked, slow } from "./a-session.ts";

const ids = (count: number, prefix = "t"): string[] =>
  Array.from({ length: count }, (_, n) => `${prefix}${String(n).padStart(5, "0")}`);

/** The service fails for these tenants. */
const failing =
  (isBad: (id: string) => boolean) =>
  ({ when, call, id }: Point): void => {
    if (when === "before" && call === "getOrCreate" && id !== undefined && isBad(id))
      throw new ServiceFailure("SERVICE_ERROR", "HTTP 500");
  };

const isBad = (id: string): boolean => id.startsWith("bad");

/** How long it takes until the tenant has its token, in milliseconds. */
async function msUntilServed(world: World, session: ReturnType<typeof aSession>, id: string) {
  const asked = world.time.elapsed;
  expect(await session.serve(id)).toMatchObject({ kind: "done" });
  return world.time.elapsed - asked;
}

const groupsOf = (world: World): string[] => [...world.service.groups.keys()].sort();

describe("a sign-up doesn't wait", () => {
  it("behind thousands of updates that were noticed before it", async () => {
    const world = new World(tenants(...ids(1_900)));
    const session = aSession(world, {
      settings: { concurrency: 8, rateLimit: { count: 600, perMs: 60_000 } },
    });
    await session.run;
    for (const [n, tenant] of world.tenants.entries()) world.tenants[n] = { ...tenant, plan: "silver" };
    for (const id of ids(1_900)) session.server.notice(id);
    await world.time.sleep(5_000);
    world.tenants.push(...tenants("new"));
    expect(await msUntilServed(world, session, "new")).toBeLessThan(1_000);
  });

  it("behind groups that fail, however many of them are tried again", async () => {
    const world = new World(tenants("good"));
    const session = aSession(world, { at: failing(isBad) });
    await session.run;
    for (const id of ids(18, "bad")) {
      world.tenants.push(...tenants(id));
      session.server.notice(id);
      await world.time.sleep(1);
    }
    world.tenants.push(...tenants("new"));
    expect(await msUntilServed(world, session, "new")).toBeLessThan(1_000);
  });

  it("behind a tenant that the full sync is trying again", async () => {
    const world = slow(new World(tenants("bad", ...ids(50))), 1_000);
    const session = aSession(world, { at: failing(isBad), settings: { concurrency: 2 } });
    await world.time.sleep(5_000);
    world.tenants.push(...tenants("new"));
    session.server.notice("bad");
    expect(await msUntilServed(world, session, "new")).toBeLessThan(1_900);
  });

  it("a second time behind a failing group that was noticed together with it", async () => {
    const world = new World(tenants("good"));
    world.service.existing = "update";
    const session = aSession(world, { at: failing(isBad) });
    await session.run;
    world.tenants.push(...tenants("new", "bad"));
    session.server.notice("bad");
    expect(await msUntilServed(world, session, "new")).toBeLessThan(1_000);
    world.tenants[1] = { id: "new", name: "another name", plan: "gold" };
    expect(await msUntilServed(world, session, "new")).toBeLessThan(1_000);
    expect(asked(world).filter((id) => id === "new")).toHaveLength(2);
  });
});

it("a full sync doesn't wait for tenants that are served singly and tried again", async () => {
  const bad = ids(12, "bad");
  const world = new World(tenants("a", ...bad, ...ids(20)));
  const at = async (point: Point): Promise<void> => {
    const isFirst = point.when === "before" && point.call === "getOrCreate" && point.id === "a";
    if (isFirst) for (const id of bad) session.server.notice(id);
    if (isFirst) await world.time.sleep(1_000);
    failing(isBad)(point);
  };
  const session = aSession(world, { at, settings: { concurrency: 1 } });
  await world.time.sleep(2_000);
  expect(groupsOf(world)).toEqual(["a", ...ids(20)]);
  await session.run;
});

describe("a tenant that alone is told to come back in an hour", () => {
  const busy = ({ when, call, id }: Point): void => {
    if (when === "before" && call === "getOrCreate" && id === "waits")
      throw new ServiceFailure("THROTTLED", "HTTP 429", { retryAfterMs: 3_600_000 });
  };

  it.each([1, 8])("holds up no sign-up once the full sync is over, %i at once", async (concurrency) => {
    const world = slow(new World(tenants(...ids(20), "waits")), 100);
    const session = aSession(world, { at: busy, settings: { concurrency } });
    expect(await session.run).toMatchObject({ counts: { created: 20, failed: 1 } });
    for (const id of ["new 1", "new 2", "new 3"]) {
      world.tenants.push(...tenants(id));
      expect(await msUntilServed(world, session, id)).toBeLessThan(6_000);
      await world.time.sleep(60_000);
    }
  });

  it("is not tried again within that hour", async () => {
    const world = slow(new World(tenants(...ids(20), "waits")), 100);
    let tries = 0;
    const counting = (point: Point): void => {
      if (point.when === "before" && point.call === "getOrCreate" && point.id === "waits") tries++;
      busy(point);
    };
    const session = aSession(world, { at: counting, settings: { concurrency: 8 } });
    await session.run;
    await world.time.sleep(3_500_000);
    expect(tries).toBe(1);
  });
});

it("a short pause for everybody at the end of a full sync fails no group", async () => {
  const world = slow(new World(tenants(...ids(14))), 100);
  let calls = 0;
  const busy = ({ when, call }: Point): void => {
    if (when === "before" && call === "getOrCreate" && ++calls > 10 && world.time.elapsed < 30_000)
      throw new ServiceFailure("THROTTLED", "HTTP 429", { retryAfterMs: 30_000 });
  };
  const session = aSession(world, { at: busy, settings: { concurrency: 8 } });
  expect(await session.run).toMatchObject({ counts: { created: 14, failed: 0 } });
});

it("a group that always fails is tried less and less often", async () => {
  const world = new World(tenants("good", "bad"));
  const session = aSession(world, { at: failing(isBad) });
  await session.run;
  session.server.notice("bad");
  const attemptsIn = async (ms: number): Promise<number> => {
    const before = session.events.filter(({ kind }) => kind === "retry").length;
    await world.time.sleep(ms);
    return session.events.filter(({ kind }) => kind === "retry").length - before;
  };
  await attemptsIn(3_600_000);
  // The wait is 64 minutes by now, or longer, and each try has no more than eight attempts.
  expect(await attemptsIn(3_600_000)).toBeLessThanOrEqual(8);
});
