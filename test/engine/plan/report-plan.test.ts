import { expect, it } from "vitest";
import type { RunEvent } from "../../../src/ports/observer.ts";
import { tenants, World } from "../../fakes/world.ts";

const DAY = 24 * 3_600_000;
const deletion = { when: "absent", gracePeriodMs: DAY, limit: { count: 3, percent: 10 } } as const;

const warningsOf = async (world: World, source: string): Promise<RunEvent[]> => {
  const { events, report } = world.start({ settings: { source, deletion } });
  await report;
  return events.filter(({ kind }) => kind === "warning");
};

it("warns in the first read of another source if tenants are missing there, long before a deletion is due", async () => {
  const world = new World(tenants("a", "b", "c"));
  expect(await warningsOf(world, "customers")).toEqual([]);
  world.tenants = tenants("a", "x");
  expect(await warningsOf(world, "prospects")).toEqual([
    expect.objectContaining({ code: "SOURCE_CHANGED", message: expect.stringContaining("2 groups") }),
  ]);
  expect(await warningsOf(world, "prospects")).toEqual([]);
});

it("does not warn about another source with the same tenants", async () => {
  const world = new World(tenants("a", "b"));
  await warningsOf(world, "customers");
  expect(await warningsOf(world, "replica")).toEqual([]);
});
