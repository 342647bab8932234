import { describe, expect, test } from "vitest";
import { ServiceFailure } from "../../../src/core/failure/service-failure.ts";
import { failing } from "../../fakes/instance.ts";
import { aSyncedWorld, tenants, World } from "../../fakes/world.ts";
import { aSession } from "../serving/a-session.ts";

const MINUTE = 60_000;
const isCall = (call: string): boolean => call === "getOrCreate" || call === "rotateNobody";
const answeredAt = (world: World): Date | null => world.ledger.service.answeredAt;

describe("the ledger knows when the service last answered well", () => {
  test("a sync, or a rotation", async () => {
    const world = new World(tenants("a"));
    const began = world.time.now();
    await world.sync();
    expect(answeredAt(world)).toEqual(began);
    await world.time.sleep(5 * MINUTE);
    const rotated = world.time.now();
    await world.startRotation({ kind: "all" }).report;
    expect(answeredAt(world)).toEqual(rotated);
  });

  test("a sync a second after one that failed", async () => {
    const world = await aSyncedWorld(["a"]);
    world.tenants.push(...tenants("b"));
    const at = (): never => {
      throw new ServiceFailure("KEY_REFUSED", "HTTP 401");
    };
    await world.time.sleep(1_000);
    await world.sync({ at: ({ when, call }) => (when === "before" && isCall(call) ? at() : undefined) });
    const failed = world.ledger.runs[0];
    expect(failed?.result?.error?.code).toBe("KEY_REFUSED");
    await world.time.sleep(1_000);
    await world.sync();
    expect(answeredAt(world)?.getTime()).toBeGreaterThan(failed?.finishedAt?.getTime() ?? Number.NaN);
  });

  test("a sync that sends nothing, or has no good answer, leaves that as it is", async () => {
    const world = await aSyncedWorld(["a"]);
    const first = answeredAt(world);
    await world.time.sleep(5 * MINUTE);
    await world.sync();
    world.tenants.push(...tenants("b"));
    await world.sync({
      at: failing("before", "getOrCreate", () => new ServiceFailure("REFUSED", "HTTP 422")),
    });
    expect(answeredAt(world)).toEqual(first);
  });

  test("single tenants are served, and of the answers of a minute one is recorded", async () => {
    const world = new World(tenants("a"));
    const writes: number[] = [];
    const session = aSession(world, {
      at: ({ when, call }) => {
        if (when === "before" && call === "recordAnswer") writes.push(world.time.now().getTime());
      },
    });
    await session.run;
    const began = world.time.now().getTime();
    for (const id of ["b", "c", "d", "e"]) {
      world.tenants.push(...tenants(id));
      await session.serve(id);
      await world.time.sleep(40_000);
    }
    await session.end();
    expect(writes.map((at) => at - began)).toEqual([0, 80_000]);
    expect(answeredAt(world)?.getTime()).toBe(began + 80_000);
    expect(session.events.filter(({ kind }) => kind === "answered")).toHaveLength(2);
  });
});
