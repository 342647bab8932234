import { expect, test } from "vitest";
import { ServiceFailure } from "../../../src/core/failure/service-failure.ts";
import { noCounts } from "../../../src/core/report/counts.ts";
import type { TenantTurns } from "../../../src/engine/lease/tenant-turns.ts";
import { readLongPause } from "../../../src/engine/plan/make-plan.ts";
import { type SyncSettings, sync } from "../../../src/engine/sync.ts";
import type { RecordedRun } from "../../../src/ports/ledger/scope.ts";
import { Instance } from "../../fakes/instance.ts";
import { VirtualClock } from "../../fakes/virtual-time.ts";
import { syncSettings, tenants, World } from "../../fakes/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const settings: Partial<SyncSettings> = {
  deletion: { when: "absent", gracePeriodMs: DAY, limit: { count: 3, percent: 0 } },
};

/** Syncs, one each hour. */
async function syncs(world: World, count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    await world.sync({ settings });
    await world.time.sleep(HOUR);
  }
}

test("a pause of two hours each week is no long one, with syncs each five minutes", async () => {
  const now = Date.parse("2026-03-29T04:00:00Z");
  const runs: RecordedRun[] = [];
  // Two hours before `now`, and two hours before each full week before it, nothing runs.
  for (let time = now - 2 * HOUR; time > now - 28 * DAY; time -= 5 * MINUTE) {
    if ((now - time) % (7 * DAY) < 2 * HOUR) continue;
    const startedAt = new Date(time);
    const result = { outcome: "ok", counts: noCounts(), requests: 0, error: null } as const;
    runs.push({ id: String(time), command: "sync", startedAt, finishedAt: new Date(time + 1000), result });
  }
  const history = async (since: Date, limit: number) =>
    runs.filter(({ startedAt }) => startedAt >= since).slice(0, limit);
  expect(await readLongPause({ history }, { healthyAt: null }, new Date(now))).toBeNull();
});

test("syncs that a refused key ends have read the source: they are no pause", async () => {
  const world = new World(tenants("a", "here"));
  await syncs(world, 12);
  world.tenants = tenants("here", "new");
  world.network = async () => {
    throw new ServiceFailure("KEY_REFUSED", "expired");
  };
  const codes: string[] = [];
  for (let n = 0; n < 12; n++) {
    const { events, report } = world.start({ settings });
    expect(await report).toMatchObject({ error: { code: "KEY_REFUSED" } });
    codes.push(...events.flatMap((event) => (event.kind === "warning" ? [event.code] : [])));
    await world.time.sleep(HOUR);
  }
  expect(codes).toEqual([]);
});

test("a deletion that was held before a long pause has its grace period again", async () => {
  const world = new World(tenants("a", "b", "c", "d", "here"));
  await syncs(world, 1);
  world.tenants = tenants("d", "here");
  await syncs(world, 2);
  world.tenants = tenants("here");
  await syncs(world, 26);
  expect(world.ledger.rows.get("d")?.held).toBe("delete");
  // This ledger comes from a backup. Since then d was back, and went again an hour ago. The limit's day is over.
  await world.time.sleep(27 * HOUR);
  expect(await world.sync({ settings })).toMatchObject({ counts: { deleted: 0, missing: 1 } });
  expect([...world.service.groups.keys()]).toEqual(["d", "here"]);
  await syncs(world, 23);
  expect([...world.service.groups.keys()]).toEqual(["d", "here"]);
  await syncs(world, 2);
  expect([...world.service.groups.keys()]).toEqual(["here"]);
});

test("a look at a missing tenant meanwhile doesn't let its old absence go on", async () => {
  const world = new World(tenants("a", "here"));
  await syncs(world, 12);
  world.tenants = tenants("here");
  await syncs(world, 2);
  await world.time.sleep(12 * HOUR);
  let turns: TenantTurns | undefined;
  const instance = new Instance({
    at: async ({ call }) => {
      // The look finds what the plan finds: the tenant is gone.
      if (call === "sourceBuckets") await turns?.looksAt(["a"]);
    },
  });
  const clock = new VirtualClock(world.time);
  const companion = {
    begin: async (run: { readonly turns: TenantTurns }) => {
      turns = run.turns;
      return async () => {};
    },
    retry: () => {},
  };
  const ports = { ...world.ports(instance, clock), observe: () => {} };
  await sync(ports, syncSettings(settings), {}, new AbortController().signal, companion);
  await world.time.sleep(HOUR);
  await syncs(world, 14);
  expect([...world.service.groups.keys()]).toEqual(["a", "here"]);
});
