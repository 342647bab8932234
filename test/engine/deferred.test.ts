import { describe, expect, it } from "vitest";
import { ServiceFailure } from "../../src/core/service-failure.ts";
import type { Fate, Point } from "../fakes/instance.ts";
import { tenants, World } from "../fakes/world.ts";

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

/** What a service does that takes its time, and defers what is asked for these groups. */
const deferring =
  (world: World, failure: () => ServiceFailure, isDeferred: (point: Point) => boolean): Fate["at"] =>
  async (point) => {
    if (point.when === "after" || !["getOrCreate", "rotate", "remove"].includes(point.call)) return;
    await world.time.sleep(20);
    if (isDeferred(point)) throw failure();
  };

describe("one tenant that is always deferred costs one tenant", () => {
  const cases = [THROTTLED, THROTTLED_FOR_30_S, OVERLOADED, OVERLOADED_FOR_5_S].flatMap(([name, failure]) =>
    [1, 8].flatMap((concurrency) =>
      ["t000", "t007", "t199"].map((id) => ({ name, failure, concurrency, id })),
    ),
  );

  it.each(cases)("with $name, $concurrency at once, if it is $id", async ({ failure, concurrency, id }) => {
    const world = new World(tenants(...IDS));
    const at = deferring(world, failure, (point) => point.id === id);
    const report = await world.sync({ settings: { concurrency }, at });
    expect(report).toMatchObject({ outcome: "partial", counts: { created: 199, failed: 1 } });
    expect(report.errors).toMatchObject([{ user_group_id: id, code: failure().code }]);
    expect(report.durationMs).toBeLessThan(15 * MINUTE);
    expect(report.requests).toBeLessThan(199 + 40);
  });

  it.each([THROTTLED, OVERLOADED])("with %s, if it is all that there is to do", async (_, failure) => {
    const world = new World(tenants("a", "b", "c"));
    await world.sync();
    world.tenants = [...tenants("b", "c", "d")];
    const at = deferring(world, failure, ({ id }) => id === "d");
    const report = await world.sync({ at });
    expect(report).toMatchObject({ outcome: "partial", counts: { failed: 1, deleted: 1 } });
  });
});

describe("a service that defers everything ends the run", () => {
  const cases = [THROTTLED, OVERLOADED].flatMap(([name, failure]) =>
    [1, 8, 100].flatMap((concurrency) => [0, 100].map((served) => ({ name, failure, concurrency, served }))),
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

  it("once what it asked for is over, and it still does", async () => {
    const world = new World(tenants(...IDS));
    let calls = 0;
    const busy = (): ServiceFailure =>
      new ServiceFailure("THROTTLED", "HTTP 429", { retryAfterMs: 60 * MINUTE });
    const at = deferring(world, busy, () => ++calls > 100);
    const report = await world.sync({ settings: { concurrency: 8 }, at });
    expect(report.error?.code).toBe("SERVICE_UNAVAILABLE");
    expect(report.durationMs).toBeLessThan(61 * MINUTE);
  });
});

it.each([THROTTLED, OVERLOADED])("%s for two minutes costs no group anything", async (_, failure) => {
  const world = new World(tenants(...IDS));
  const at = deferring(world, failure, () => world.time.elapsed > 1_000 && world.time.elapsed < 121_000);
  const report = await world.sync({ settings: { concurrency: 8 }, at });
  expect(report).toMatchObject({ outcome: "ok", counts: { created: 200, failed: 0 } });
});
