import { expect, test } from "vitest";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { ledgerFindings } from "../../../src/engine/check/ledger.ts";
import { Instance } from "../../fakes/instance.ts";
import { VirtualClock } from "../../fakes/virtual-time.ts";
import { BASE_URL, tenants, World } from "../../fakes/world.ts";
import { allOf, signsOf } from "./findings.ts";

const aLedger = (world: World) => world.ports(new Instance(), new VirtualClock(world.time)).ledger;

const find = (world: World, baseUrl = BASE_URL, overrides = {}, clock = new VirtualClock(world.time)) =>
  allOf(
    ledgerFindings(
      { ledger: { ...aLedger(world), ...overrides }, clock },
      { database: { title: "db:5432/app", privacy: "verified" }, baseUrl, update: "upsert" },
    ),
  );

test("a ledger that is not there yet, and one that is, are well", async () => {
  const world = new World(tenants("a"));
  expect(signsOf(await find(world))).toEqual(["✓", "✓", "✓"]);
  await world.sync();
  const found = await find(world);
  expect(signsOf(found)).toEqual(["✓", "✓", "✓"]);
  expect(found.map(({ message }) => message)).toEqual([
    expect.stringContaining("db:5432/app"),
    expect.stringContaining("this user may write there"),
    "nobody holds the lease",
  ]);
});

test("another service.base_url than that of the ledger's groups is what a sync says", async () => {
  const world = new World(tenants("a"));
  await world.sync();
  const found = await find(world, "https://staging.example.com");
  expect(signsOf(found)).toEqual(["✓", "✓", "✗ SERVICE_CHANGED", "✓"]);
  expect(found[2]?.hint).toContain("put the old address back");
});

test("a service that keeps existing groups as they are is a warning if groups are to be updated", async () => {
  const world = new World(tenants("a"));
  await world.sync();
  const service = async () => ({ baseUrl: BASE_URL, teamId: null, updates: false, isProbed: true });
  const found = await find(world, BASE_URL, { service });
  expect(signsOf(found)).toEqual(["✓", "✓", "!", "✓"]);
  expect(found[2]?.hint).toContain("set service.update to replace");
});

test("a clock that differs from the ledger's is named, even before the first sync", async () => {
  const world = new World();
  const clock = new VirtualClock(world.time);
  clock.jump(-3_600_000);
  const found = await find(world, BASE_URL, {}, clock);
  expect(signsOf(found)).toEqual(["✓", "✓", "! CLOCK_DIFFERS", "✓"]);
  expect(found[2]?.message).toContain("is 1 h 0 min behind the clock of the ledger's database");
});

test("tables of an older groupsync are a warning, because a sync migrates them", async () => {
  const outdated = async (): Promise<never> => {
    throw new SyncError("LEDGER_OUTDATED", "the ledger has version 6", { hint: "a sync migrates it" });
  };
  const found = await find(new World(), BASE_URL, { id: outdated, service: outdated, status: outdated });
  expect(signsOf(found)).toEqual(["✓", "! LEDGER_OUTDATED"]);
});

test("the holder of the lease is named", async () => {
  const world = new World();
  const ledger = aLedger(world);
  await ledger.prepare();
  await ledger.acquireLease("host-a pid 7", 60_000);
  const found = await find(world);
  expect(signsOf(found)).toEqual(["✓", "✓", "✓"]);
  expect(found[2]?.message).toMatch(/^host-a pid 7 holds the lease until /);
});
