import { describe, expect, it } from "vitest";
import { ServiceFailure } from "../../../src/core/failure/service-failure.ts";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import type { RunReport } from "../../../src/engine/report/run-report.ts";
import type { RotationSelection } from "../../../src/engine/rotation/rotation-selection.ts";
import type { Point } from "../../fakes/instance.ts";
import type { TenantRecord } from "../../fakes/tenant-source.ts";
import { type StartOptions, syncSettings, tenants, World } from "../../fakes/world.ts";

const DAY = 86_400_000;

const ALL: RotationSelection = { kind: "all" };

const only = (...ids: string[]): RotationSelection => ({ kind: "only", ids: new Set(ids) });

async function aSyncedWorld(...ids: string[]): Promise<World> {
  const world = new World(tenants(...ids));
  world.service.existing = "update";
  await world.sync();
  await world.time.sleep(DAY);
  world.service.requests.length = 0;
  return world;
}

async function rotate(world: World, selection = ALL, options: StartOptions = {}): Promise<RunReport> {
  const report = await world.startRotation(selection, options).report;
  if (report === "died") throw new Error("it died");
  return report;
}

const renamed = (records: readonly TenantRecord[]): TenantRecord[] =>
  records.map((record) => ({ ...record, name: `New ${record.name}` }));

/** The ids of those tokens that are still live. */
const stillLive = (before: ReadonlyMap<string, string>, { service }: World): string[] =>
  [...before].flatMap(([id, token]) => (service.tokens.get(id) === token ? [id] : []));

const failing =
  (call: string, ...ids: string[]) =>
  (point: Point): void => {
    if (point.call === call && point.when === "before" && ids.includes(point.id ?? ""))
      throw new ServiceFailure("SERVICE_ERROR", "it was answered HTTP 501");
  };

const requests = (world: World): string[] =>
  world.service.requests.map(({ operation, id }) => `${operation} ${id}`);

describe("a change that an earlier run left under way", () => {
  it("is settled as a sync does, for the selected groups only", async () => {
    const world = await aSyncedWorld("a", "b", "c");
    world.tenants = renamed(world.tenants);
    const started = world.start({
      at: ({ call, when }) => {
        if (call === "getOrCreate" && when === "before") started.instance.kill();
      },
    });
    expect(await started.report).toBe("died");
    expect([...world.ledger.rows.values()].map(({ intent }) => intent)).toEqual(["apply", "apply", "apply"]);
    world.service.requests.length = 0;
    expect(await rotate(world, only("b"))).toMatchObject({
      outcome: "ok",
      counts: { updated: 1, rotated: 1 },
      requests: 2,
    });
    expect(requests(world)).toEqual(["GET b", "POST b"]);
    expect([...world.ledger.rows].map(([id, { intent }]) => [id, intent])).toEqual([
      ["a", "apply"],
      ["b", null],
      ["c", "apply"],
    ]);
  });

  it("makes rotate read the source, which rotate doesn't read otherwise", async () => {
    const world = await aSyncedWorld("a");
    const { instance, report } = world.startRotation(ALL);
    await report;
    expect(instance.history("before openSource", "before openLookUps")).toEqual([]);
  });

  it("is left with a warning if the source can't be read, and known tokens are rotated", async () => {
    const world = await aSyncedWorld("a", "b");
    world.tenants = [...renamed(tenants("a")), ...tenants("b")];
    await world.sync({ at: failing("getOrCreate", "a") });
    const before = world.service.tokens;
    const { report, events } = world.startRotation(ALL, {
      at: ({ call }) => {
        if (call === "openLookUps") throw new SyncError("SOURCE_UNAVAILABLE", "cannot read customers");
      },
    });
    expect(await report).toMatchObject({ outcome: "ok", counts: { rotated: 2, failed: 0 } });
    expect(events).toContainEqual(expect.objectContaining({ kind: "warning", code: "SOURCE_UNAVAILABLE" }));
    expect(stillLive(before, world)).toEqual([]);
    expect(world.ledger.rows.get("a")?.intent).toBe("apply");
  });

  it.each(["--all", "--only"])(
    "is reported if it is a removal that can't be settled, because no stored token can be relied on (%s)",
    async (flag) => {
      const world = await aSyncedWorld("a", "b");
      world.tenants = [...tenants("a"), ...renamed(tenants("b"))];
      const at = failing("remove", "b");
      const settings = { update: "replace" } as const;
      await world.sync({ at, settings });
      expect(world.ledger.rows.get("b")?.intent).toBe("replace");
      world.service.requests.length = 0;
      const report = await rotate(world, flag === "--all" ? ALL : only("a", "b"), { at, settings });
      expect(report).toMatchObject({
        outcome: "partial",
        counts: { rotated: 1, failed: 1 },
        errors: [{ user_group_id: "b", code: "UNSETTLED", message: expect.stringContaining("HTTP 501") }],
      });
      expect(requests(world).filter((request) => request.startsWith("POST"))).toEqual(["POST a"]);
      expect(await rotate(world, ALL, { settings })).toMatchObject({
        outcome: "ok",
        counts: { rotated: 2, replaced: 1 },
      });
    },
  );

  it("is left to a sync and reported if it is a deletion", async () => {
    const world = await aSyncedWorld("a", "b");
    world.tenants = tenants("a");
    await world.sync({ at: failing("remove", "b") });
    expect(world.ledger.rows.get("b")?.intent).toBe("delete");
    world.service.requests.length = 0;
    expect(await rotate(world)).toMatchObject({
      outcome: "partial",
      counts: { rotated: 1, failed: 1, deleted: 0 },
      errors: [{ user_group_id: "b", code: "UNSETTLED", message: expect.stringContaining("a sync has to") }],
    });
    expect(requests(world)).toEqual(["POST a"]);
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { deleted: 1 } });
    expect(await rotate(world)).toMatchObject({ outcome: "ok", counts: { rotated: 1 } });
  });

  it("is settled by a sync by a GET if the row is rejected or gone", async () => {
    const world = await aSyncedWorld("a", "b", "c");
    world.tenants = renamed(world.tenants);
    await world.sync({ at: failing("getOrCreate", "a", "b") });
    world.tenants = [{ id: "a", name: null, plan: "gold" }, ...renamed(tenants("c"))];
    world.service.requests.length = 0;
    const settings = syncSettings().deletion;
    await world.sync({ settings: { deletion: { ...settings, gracePeriodMs: DAY } } });
    expect(requests(world)).toEqual(["GET a", "GET b"]);
    expect(world.ledger.rows.get("a")?.intent).toBeNull();
    expect(world.ledger.rows.get("b")).toMatchObject({ intent: null, absence: { kind: "absent" } });
    world.service.requests.length = 0;
    await world.sync({ settings: { deletion: { ...settings, gracePeriodMs: DAY } } });
    expect(requests(world)).toEqual([]);
  });
});
