import { describe, expect, it } from "vitest";
import { SyncError } from "../../src/core/errors.ts";
import { ServiceFailure } from "../../src/core/service-failure.ts";
import type { RunReport } from "../../src/engine/report.ts";
import type { RotationSelection } from "../../src/engine/rotation-selection.ts";
import type { Point } from "../fakes/instance.ts";
import type { TenantRecord } from "../fakes/tenant-source.ts";
import { type StartOptions, syncSettings, tenants, World } from "../fakes/world.ts";

const DAY = 86_400_000;
const ALL: RotationSelection = { kind: "all" };
const only = (...ids: string[]): RotationSelection => ({ kind: "only", ids: new Set(ids) });
const selections: [string, RotationSelection][] = [
  ["--all", ALL],
  ["--older-than", { kind: "older than", ageMs: 1_000 }],
];

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

/** Which of these tokens are live. */
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

describe("whoever asks for new tokens gets all of them,", () => {
  it.each(selections)("also of groups that a killed sync left under way (%s)", async (_, selection) => {
    const ids = Array.from({ length: 40 }, (_, n) => `t${String(n).padStart(2, "0")}`);
    const world = await aSyncedWorld(...ids);
    world.tenants = renamed(world.tenants);
    let sent = 0;
    const started = world.start({
      at: ({ call, when }) => {
        if (call === "getOrCreate" && when === "before" && ++sent === 20) started.instance.kill();
      },
    });
    expect(await started.report).toBe("died");
    const before = world.service.tokens;

    expect(await rotate(world, selection)).toMatchObject({
      outcome: "ok",
      counts: { rotated: 40, failed: 0 },
    });
    expect(stillLive(before, world)).toEqual([]);
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expect([...world.service.groups.values()].map(({ group }) => group.name)).toEqual(
      ids.map((id) => `New Name of ${id}`),
    );
  });

  it.each(selections)("also of one whose update the service can't take (%s)", async (_, selection) => {
    const world = await aSyncedWorld("a", "b", "c");
    world.tenants = [...tenants("a", "c"), ...renamed(tenants("b"))];
    const at = failing("getOrCreate", "b");
    expect((await world.sync({ at })).counts.failed).toBe(1);
    await world.time.sleep(DAY);
    const before = world.service.tokens;
    const { report, events } = world.startRotation(selection, { at });
    expect(await report).toMatchObject({ outcome: "ok", counts: { rotated: 3, failed: 0 } });
    expect(events).toContainEqual(
      expect.objectContaining({
        kind: "warning",
        code: "UNSETTLED",
        message: expect.stringContaining('"b"'),
      }),
    );
    expect(stillLive(before, world)).toEqual([]);
    expect(world.store.tokens).toEqual(world.service.tokens);
    // The update is still to be made.
    expect(world.ledger.rows.get("b")).toMatchObject({ intent: "apply", failure: { code: "SERVICE_ERROR" } });
    expect((await world.sync()).counts.failed + world.store.refused.size).toBeLessThanOrEqual(1);
  });

  it("also of one whose row was rejected after its update was begun, whatever happens in between", async () => {
    for (let diesAt = 0, end: unknown = "died"; end === "died"; diesAt++) {
      const world = await aSyncedWorld("a", "b");
      world.tenants = [...tenants("a"), ...renamed(tenants("b"))];
      await world.sync({ at: failing("getOrCreate", "b") });
      world.tenants = [...tenants("a"), { id: "b", name: null, plan: "gold" }];
      const before = world.service.tokens;
      end = await world.startRotation(ALL, { diesAt }).report;
      if (end !== "died") {
        expect(end).toMatchObject({ outcome: "ok", counts: { rotated: 2 } });
        expect(stillLive(before, world)).toEqual([]);
      }
      await world.sync();
      expect({ diesAt, tokens: world.store.tokens }).toEqual({ diesAt, tokens: world.service.tokens });
      expect(world.ledger.rows.get("b")?.intent).toBeNull();
    }
  });

  it.each(selections)("and what has no token that anybody knows is named (%s)", async (_, selection) => {
    const world = await aSyncedWorld("a", "b", "c");
    world.tenants = tenants("a", "b", "c", "new");
    world.store.refused.add("new");
    await world.sync();
    await world.time.sleep(DAY);
    const before = world.service.tokens;
    expect(await rotate(world, selection)).toMatchObject({
      outcome: "partial",
      counts: { rotated: 3, failed: 1 },
      errors: [{ user_group_id: "new", code: "UNSETTLED", message: expect.stringContaining("no room") }],
    });
    expect(stillLive(before, world)).toEqual(["new"]);

    world.store.refused.clear();
    const token = world.service.tokens.get("new");
    expect(await rotate(world)).toMatchObject({ outcome: "ok", counts: { rotated: 4, failed: 0 } });
    expect(world.service.tokens.get("new")).not.toBe(token);
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  it("also of tenants that are gone, or whose replacement is held", async () => {
    const world = await aSyncedWorld("a", "b", "c", "d");
    world.tenants = [...tenants("a"), ...renamed(tenants("b"))];
    const held = { count: 0, percent: 0 };
    const report = await world.sync({
      settings: { update: "replace", deletion: { when: "absent", gracePeriodMs: 0, limit: held } },
    });
    expect(report.counts).toMatchObject({ held: 3 });
    const before = world.service.tokens;
    expect(await rotate(world)).toMatchObject({ outcome: "ok", counts: { rotated: 4 } });
    expect(stillLive(before, world)).toEqual([]);
    expect(world.store.tokens).toEqual(world.service.tokens);
    // They are as gone as before, and as held.
    expect(world.ledger.rows.get("c")).toMatchObject({ held: "delete", absence: { kind: "absent" } });
    expect(world.ledger.rows.get("b")).toMatchObject({ held: "replace" });
  });

  it("also of one whose rotation an earlier run did not see the end of", async () => {
    for (let diesAt = 0, end: unknown = "died"; end === "died"; diesAt++) {
      const world = await aSyncedWorld("a", "b");
      end = await world.startRotation(ALL, { diesAt }).report;
      const before = world.service.tokens;
      await rotate(world);
      expect({ diesAt, live: stillLive(before, world) }).toEqual({ diesAt, live: [] });
      expect(world.store.tokens).toEqual(world.service.tokens);
      const times = [...world.ledger.formerTokens].filter(
        ({ user_group_id }) => user_group_id === "a",
      ).length;
      expect(times).toBeGreaterThanOrEqual(1);
    }
  });

  it.each(selections)(
    "but not of groups that are deleted, and only their tokens left (%s)",
    async (_, selection) => {
      const world = await aSyncedWorld("a", "b");
      world.store.notRemovable.add("b");
      world.tenants = tenants("a");
      await world.sync();
      expect(world.ledger.rows.get("b")?.intent).toBe("remove");
      await world.time.sleep(DAY);
      expect(await rotate(world, selection)).toMatchObject({
        outcome: "ok",
        counts: { rotated: 1, failed: 0 },
      });
      expect(await rotate(world, only("b"))).toMatchObject({
        outcome: "failed",
        error: { code: "UNKNOWN_ID" },
      });
    },
  );

  it("whatever the clocks say since when they are live", async () => {
    const world = await aSyncedWorld("a", "b", "c");
    const before = world.service.tokens;
    const started = world.startRotation(ALL, {
      at: ({ call, when }) => {
        if (call === "acquireLease" && when === "before") started.clock.jump(-10 * DAY);
      },
    });
    expect(await started.report).toMatchObject({ outcome: "ok", counts: { rotated: 3 }, requests: 3 });
    expect(stillLive(before, world)).toEqual([]);
  });
});

describe("what an earlier run left under way", () => {
  it("is settled as a sync does it, and only of the groups that are asked for", async () => {
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

  it("has the source read, which else is left alone", async () => {
    const world = await aSyncedWorld("a");
    const { instance, report } = world.startRotation(ALL);
    await report;
    expect(instance.history("before openSource")).toEqual([]);
  });

  it("is left where the source can't be read, which is told, and the tokens that are known are rotated", async () => {
    const world = await aSyncedWorld("a", "b");
    world.tenants = [...renamed(tenants("a")), ...tenants("b")];
    await world.sync({ at: failing("getOrCreate", "a") });
    const before = world.service.tokens;
    const { report, events } = world.startRotation(ALL, {
      at: ({ call }) => {
        if (call === "openSource") throw new SyncError("SOURCE_UNAVAILABLE", "cannot read customers");
      },
    });
    expect(await report).toMatchObject({ outcome: "ok", counts: { rotated: 2, failed: 0 } });
    expect(events).toContainEqual(expect.objectContaining({ kind: "warning", code: "SOURCE_UNAVAILABLE" }));
    expect(stillLive(before, world)).toEqual([]);
    expect(world.ledger.rows.get("a")?.intent).toBe("apply");
  });

  it.each(["--all", "--only"])(
    "and can't be settled is named where it is a removal: its group has no token to rely on (%s)",
    async (flag) => {
      const world = await aSyncedWorld("a", "b");
      world.tenants = tenants("a");
      const at = failing("remove", "b");
      await world.sync({ at });
      expect(world.ledger.rows.get("b")?.intent).toBe("delete");
      world.service.requests.length = 0;
      const report = await rotate(world, flag === "--all" ? ALL : only("a", "b"), { at });
      expect(report).toMatchObject({
        outcome: "partial",
        counts: { rotated: 1, failed: 1 },
        errors: [{ user_group_id: "b", code: "UNSETTLED", message: expect.stringContaining("HTTP 501") }],
      });
      // Before its DELETE, a GET shows whether this is the right team.
      expect(requests(world)).toEqual(["GET b", "POST a"]);
      expect(await rotate(world)).toMatchObject({ outcome: "ok", counts: { rotated: 1, deleted: 1 } });
      expect([...world.service.tokens.keys()]).toEqual(["a"]);
    },
  );

  it("is left by a sync for no longer than it takes to ask, where the row is rejected or gone", async () => {
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

describe("a group that the service had, and did not update", () => {
  async function anAdoptedWorld(): Promise<World> {
    const world = new World(tenants("a", "b"));
    world.service.put({ user_group_id: "a", name: "Theirs", mapping: {}, properties: {} });
    expect((await world.sync()).errors).toMatchObject([{ user_group_id: "a", code: "NOT_UPDATED" }]);
    world.service.requests.length = 0;
    return world;
  }

  it("is rotated like any other, be it named or not", async () => {
    for (const selection of [ALL, only("a")]) {
      const world = await anAdoptedWorld();
      const before = world.service.tokens.get("a");
      expect(await rotate(world, selection)).toMatchObject({ outcome: "ok" });
      expect(world.service.tokens.get("a")).not.toBe(before);
      expect(world.store.tokens).toEqual(world.service.tokens);
    }
  });

  it("is not asked for by a GET that would make another group of it", async () => {
    const world = await anAdoptedWorld();
    world.service.groups.delete("a");
    expect(await rotate(world)).toMatchObject({
      outcome: "partial",
      counts: { rotated: 1, failed: 1 },
      errors: [{ user_group_id: "a", code: "REFUSED" }],
    });
    expect(requests(world)).toEqual(["POST a", "POST b"]);
    world.store.tokens.delete("a");
    expect(await rotate(world)).toMatchObject({ errors: [{ user_group_id: "a", code: "UNSETTLED" }] });
    expect(requests(world).filter((request) => request === "GET a")).toEqual([]);
  });
});

it("an empty ledger beside tokens is no reason to say that all are rotated", async () => {
  const world = new World(tenants("a", "b"));
  await world.sync();
  world.ledger.clear();
  const { report } = world.startRotation({ kind: "all" });
  expect(await report).toMatchObject({ outcome: "failed", error: { code: "LEDGER_EMPTY" } });
});

it("a ledger that has only begun changes is not an empty one", async () => {
  const world = new World(tenants("a"));
  const first = world.start({
    at: ({ when, call }) => {
      if (when === "after" && call === "writeTokens") first.instance.kill();
    },
  });
  expect(await first.report).toBe("died");
  expect(world.store.tokens.size).toBe(1);
  const refused = ({ when, call }: Point): void => {
    if (when === "before" && call === "getOrCreate")
      throw new ServiceFailure("REFUSED", "GET was answered HTTP 422");
  };
  const sync = world.start({ at: refused });
  await sync.report;
  expect(sync.events).not.toContainEqual(expect.objectContaining({ code: "LEDGER_EMPTY" }));
  expect(await rotate(world, ALL, { at: refused })).toMatchObject({
    outcome: "partial",
    errors: [{ user_group_id: "a" }],
  });
});

it("a token that the service refuses is asked for until a GET has told the live one", async () => {
  const world = new World(tenants("a", "b"));
  await world.sync();
  const meddled = world.service.groups.get("a");
  if (meddled) meddled.token = world.service.newToken("a");
  const refused = ({ when, call, id }: Point): void => {
    if (when === "before" && call === "getOrCreate" && id === "a")
      throw new ServiceFailure("REFUSED", "GET was answered HTTP 422");
  };
  expect(await world.startRotation(ALL, { at: refused }).report).toMatchObject({ counts: { failed: 1 } });
  await world.time.sleep(DAY);
  expect(await world.sync({ at: refused })).toMatchObject({ outcome: "partial" });
  await world.time.sleep(DAY);
  expect(await world.sync()).toMatchObject({ outcome: "ok" });
  expect(world.store.tokens).toEqual(world.service.tokens);
});
