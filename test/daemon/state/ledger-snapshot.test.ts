import { expect, test } from "vitest";
import { ServiceFailure } from "../../../src/core/failure/service-failure.ts";
import { readLedgerSnapshot } from "../../../src/daemon/state/ledger-snapshot.ts";
import { failing, Instance } from "../../fakes/instance.ts";
import { VirtualClock } from "../../fakes/virtual-time.ts";
import { aSyncedWorld, syncSettings, tenants, type World } from "../../fakes/world.ts";

const DAY = 86_400_000;

const snapshotOf = (world: World, maxAgeMs: number | null, now = world.time.now()) => {
  const { ledger } = world.ports(new Instance(), new VirtualClock(world.time));
  const { deletion } = syncSettings();
  return readLedgerSnapshot(ledger, { maxAgeMs, name: "test", deletion }, now);
};

test("tokens beyond rotation.max_age are counted", async () => {
  const world = await aSyncedWorld(["a", "b"]);
  await world.time.sleep(DAY / 2);
  world.tenants = tenants("a", "b", "c");
  await world.sync();
  const now = new Date(world.time.now().getTime() + 364.75 * DAY);
  expect((await snapshotOf(world, 9 * DAY, now)).tooOld).toEqual({ maxAgeMs: 9 * DAY, tokens: 3 });
  expect((await snapshotOf(world, 365 * DAY, now)).tooOld).toMatchObject({ tokens: 2 });
  expect((await snapshotOf(world, null)).tooOld).toBeNull();
});

test("groups that fail and groups of rejected rows have names, as far as the service told them", async () => {
  const world = await aSyncedWorld(["failing", "fine", "rejected"]);
  world.tenants = [
    { id: "failing", name: "Renamed", plan: "gold" },
    ...tenants("fine"),
    { id: "rejected", name: null, plan: "gold" },
    { id: "new", name: null, plan: "gold" },
  ];
  await world.sync({
    at: failing("before", "getOrCreate", () => new ServiceFailure("REFUSED", "HTTP 422")),
  });
  expect([...(await snapshotOf(world, null)).names]).toEqual([
    ["failing", "Name of failing"],
    ["rejected", "Name of rejected"],
  ]);
});
