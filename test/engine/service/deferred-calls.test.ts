import { describe, expect, it } from "vitest";
import { ServiceFailure } from "../../../src/core/failure/service-failure.ts";
import type { Fate, Point } from "../../fakes/instance.ts";
import { aWindow } from "../../fakes/limited-service.ts";
import { VirtualClock } from "../../fakes/virtual-time.ts";
import { aSyncedWorld, tenants, World } from "../../fakes/world.ts";

const IDS = Array.from({ length: 200 }, (_, n) => `t${String(n).padStart(3, "0")}`);

const MINUTE = 60_000;

type Busy = [name: string, failure: () => ServiceFailure];

const THROTTLED: Busy = ["429", () => new ServiceFailure("THROTTLED", "HTTP 429")];

const THROTTLED_FOR_30_S: Busy = [
  "429 with Retry-After: 30",
  () => new ServiceFailure("THROTTLED", "HTTP 429", { retryAfterMs: 30_000 }),
];

const OVERLOADED: Busy = ["503", () => new ServiceFailure("OVERLOADED", "HTTP 503")];

const OVERLOADED_FOR_5_S: Busy = [
  "503 with Retry-After: 5",
  () => new ServiceFailure("OVERLOADED", "HTTP 503", { retryAfterMs: 5_000 }),
];

/** A slow service that defers every call for these groups. */
const deferring =
  (world: World, failure: () => ServiceFailure, isDeferred: (point: Point) => boolean): Fate["at"] =>
  async (point) => {
    if (point.when === "after" || !["getOrCreate", "rotate", "remove"].includes(point.call)) return;
    await world.time.sleep(20);
    if (isDeferred(point)) throw failure();
  };

describe("one tenant that is always deferred costs one tenant", () => {
  const cases = [THROTTLED, THROTTLED_FOR_30_S, OVERLOADED, OVERLOADED_FOR_5_S].flatMap(([name, failure]) => [
    { name, failure, concurrency: 1, id: "t000" },
    { name, failure, concurrency: 8, id: "t199" },
  ]);

  it.each(cases)("with $name, $concurrency at once, if it is $id", async ({ failure, concurrency, id }) => {
    const world = new World(tenants(...IDS));
    const at = deferring(world, failure, (point) => point.id === id);
    const report = await world.sync({ settings: { concurrency }, at });
    expect(report).toMatchObject({ outcome: "partial", counts: { created: 199, failed: 1 } });
    expect(report.errors).toMatchObject([{ user_group_id: id, code: failure().code }]);
    expect(report.durationMs).toBeLessThan(15 * MINUTE);
    expect(report.requests).toBeLessThan(199 + 40);
  });

  it.each([THROTTLED, OVERLOADED])("with %s, even if it is the only tenant to sync", async (_, failure) => {
    const world = await aSyncedWorld(["a", "b", "c"]);
    world.tenants = [...tenants("b", "c", "d")];
    const at = deferring(world, failure, ({ id }) => id === "d");
    const report = await world.sync({ at });
    expect(report).toMatchObject({ outcome: "partial", counts: { failed: 1, deleted: 1 } });
  });
});

describe("one tenant that is told to come back in an hour", () => {
  const busy = (): ServiceFailure =>
    new ServiceFailure("THROTTLED", "HTTP 429", { retryAfterMs: 60 * MINUTE });

  it.each([
    [1, "t000"],
    [8, "t000"],
    [8, "t100"],
  ])("is not waited for once others have passed, %i at once, if it is %s", async (concurrency, id) => {
    const world = new World(tenants(...IDS));
    const at = deferring(world, busy, (point) => point.id === id);
    const report = await world.sync({ settings: { concurrency }, at });
    expect(report).toMatchObject({ outcome: "partial", counts: { created: 199, failed: 1 } });
    expect(report.durationMs).toBeLessThan(2 * MINUTE);
    const before = world.service.requests.length;
    // The next sync leaves it alone too.
    expect(await world.sync({ at })).toMatchObject({ counts: { failed: 1 }, requests: 0 });
    expect(world.service.requests).toHaveLength(before);
  });
});

describe("a service that defers everything ends the run", () => {
  const cases = [THROTTLED, OVERLOADED].flatMap(([name, failure]) =>
    [1, 100].flatMap((concurrency) => [0, 100].map((served) => ({ name, failure, concurrency, served }))),
  );

  it.each(cases)(
    "within minutes, with $name, $concurrency at once, after $served answers",
    async ({ failure, concurrency, served }) => {
      const world = new World(tenants(...IDS));
      let calls = 0;
      const at = deferring(world, failure, () => ++calls > served);
      const report = await world.sync({ settings: { concurrency }, at });
      expect(report.error).toMatchObject({ code: "SERVICE_UNAVAILABLE", cause: failure() });
      expect(report.durationMs).toBeLessThan(13 * MINUTE);
      expect(report.counts.failed).toBeLessThanOrEqual(5);
    },
  );

  it("with Retry-After: 60, however many calls were under way", async () => {
    const ids = Array.from({ length: 3_000 }, (_, n) => String(n));
    const world = new World(tenants(...ids));
    let calls = 0;
    const busy = (): ServiceFailure => new ServiceFailure("THROTTLED", "HTTP 429", { retryAfterMs: 60_000 });
    const at = deferring(world, busy, () => ++calls > 200);
    const report = await world.sync({ settings: { concurrency: 1_000 }, at });
    expect(report.error?.code).toBe("SERVICE_UNAVAILABLE");
    expect(report.durationMs).toBeLessThan(12 * MINUTE);
  });

  describe("that asks to be left alone for an hour", () => {
    const busy = (): ServiceFailure =>
      new ServiceFailure("THROTTLED", "HTTP 429", { retryAfterMs: 60 * MINUTE });

    it.each([1, 8])("once the hour is over and it still defers, %i at once", async (concurrency) => {
      const world = new World(tenants(...IDS));
      let calls = 0;
      const at = deferring(world, busy, () => ++calls > 100);
      const report = await world.sync({ settings: { concurrency }, at });
      expect(report.error?.code).toBe("SERVICE_UNAVAILABLE");
      expect(report.durationMs).toBeGreaterThan(60 * MINUTE);
      expect(report.durationMs).toBeLessThan(61 * MINUTE);
    });

    it.each([1, 8])("within seconds, if it has answered nothing, %i at once", async (concurrency) => {
      const world = new World(tenants(...IDS));
      const at = deferring(world, busy, () => true);
      const report = await world.sync({ settings: { concurrency }, at });
      expect(report.error).toMatchObject({
        code: "SERVICE_UNAVAILABLE",
        message:
          "the service is not available: it asks to be left alone until 2026-03-01T01:00:05.040Z; HTTP 429",
      });
      // A second group shows that the pause isn't the first one's alone.
      expect(report.durationMs).toBeLessThan(6_000);
      expect(report.requests).toBe(2);
    });

    it("is waited for as long as each hour lets some calls pass", async () => {
      const world = new World(tenants(...IDS));
      const limit = aWindow({ count: 50, perMs: 60 * MINUTE });
      const at = deferring(world, busy, () => limit.enter(world.time.elapsed) > 0);
      const report = await world.sync({ settings: { concurrency: 1 }, at });
      expect(report).toMatchObject({ outcome: "ok", counts: { created: 200 } });
      expect(report.durationMs).toBeGreaterThan(180 * MINUTE);
    });
  });
});

describe("a limit that is used up for longer than a minute", () => {
  /** After so many calls the service takes none for two minutes. It refuses sooner than it answers. */
  const usedUp = (world: World, served: number): Fate["at"] => {
    let calls = 0;
    const endsAt = world.time.elapsed + 2 * MINUTE;
    return async ({ when, call }) => {
      if (when === "after" || !["getOrCreate", "rotate"].includes(call)) return;
      const isRefused = ++calls > served && world.time.elapsed < endsAt;
      await world.time.sleep(isRefused ? 20 : 200);
      if (isRefused)
        throw new ServiceFailure("THROTTLED", "HTTP 429", { retryAfterMs: endsAt - world.time.elapsed });
    };
  };

  it.each([
    ["first", 0],
    ["last", 22],
  ])("fails none of the %s groups of a sync", async (_, served) => {
    const world = new World(tenants(...IDS.slice(0, 25)));
    const report = await world.sync({ settings: { concurrency: 8 }, at: usedUp(world, served) });
    expect(report).toMatchObject({ outcome: "ok", counts: { created: 25 } });
  });

  it("fails none of the groups that are rotated one by one", async () => {
    const world = await aSyncedWorld(IDS.slice(0, 25));
    const report = await world.rotate({ kind: "all" }, { at: usedUp(world, 20) });
    expect(report).toMatchObject({ outcome: "ok", counts: { rotated: 25 } });
  });
});

describe("a group that alone is told to come back later", () => {
  const aloneFor = (world: World, minutes: number): Fate["at"] => {
    const busy = (): ServiceFailure =>
      new ServiceFailure("THROTTLED", "HTTP 429", { retryAfterMs: minutes * MINUTE });
    return deferring(world, busy, ({ id }) => id === "t002");
  };

  it("is given up after a minute if it is the last of a sync", async () => {
    const world = new World(tenants("t000", "t001", "t002"));
    const report = await world.sync({ at: aloneFor(world, 5) });
    expect(report).toMatchObject({ counts: { created: 2, failed: 1 } });
    expect(report.durationMs).toBeLessThan(2 * MINUTE);
  });

  it("holds up no other rotation for longer than it was told", async () => {
    const world = await aSyncedWorld(["t000", "t001", "t002", "t003"]);
    const report = await world.rotate({ kind: "all" }, { at: aloneFor(world, 20) });
    expect(report).toMatchObject({ counts: { rotated: 3, failed: 1 } });
    expect(report.durationMs).toBeLessThan(25 * MINUTE);
  });
});

describe("a 503 without Retry-After", () => {
  const MANY = Array.from({ length: 1_200 }, (_, n) => `t${String(n).padStart(4, "0")}`);

  it.each([0.1])(
    "for a share of %f of the calls, by chance, slows a run and fails no group",
    async (share) => {
      const world = new World(tenants(...MANY));
      const dice = new VirtualClock(world.time, 1);
      const at = deferring(world, OVERLOADED[1], () => dice.random() < share);
      const report = await world.sync({ settings: { concurrency: 8 }, at });
      expect(report).toMatchObject({ outcome: "ok", counts: { created: MANY.length } });
      expect(report.durationMs).toBeLessThan(30 * MINUTE);
      expect(report.requests).toBeLessThan(MANY.length * 1.3);
    },
  );
});
