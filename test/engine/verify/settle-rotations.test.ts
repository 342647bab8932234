import { describe, expect, test } from "vitest";
import { ServiceFailure } from "../../../src/core/failure/service-failure.ts";
import { UNKNOWN_STATE } from "../../../src/core/group/ledger-group.ts";
import { newRecord } from "../../../src/core/record/record.ts";
import type { RunReport } from "../../../src/engine/report/run-report.ts";
import type { Point } from "../../fakes/instance.ts";
import {
  aSyncedWorld,
  refusesNew,
  type Started,
  type StartOptions,
  syncSettings,
  tenants,
  World,
} from "../../fakes/world.ts";

const IDS = ["a", "b", "c", "d"];

const MINUTE = 60_000;
const DAY = 86_400_000;

test.each([
  ["rejected", { name: null }],
  ["not ready", { ready: false }],
])(
  "a sync names a group of unknown state that it can't ask for its token, because its row is %s",
  async (_, row) => {
    const world = await aSyncedWorld(IDS);
    const record = world.ledger.rows.get("b");
    if (record)
      world.ledger.rows.set("b", {
        ...record,
        confirmed: null,
        fingerprint: UNKNOWN_STATE,
        intent: "rotate",
      });
    world.tenants = tenants(...IDS).map((tenant) => (tenant.id === "b" ? { ...tenant, ...row } : tenant));
    for (let times = 0; times < 2; times++) {
      const report = await world.sync();
      expect(report.errors).toContainEqual({
        user_group_id: "b",
        code: "UNSETTLED",
        message: expect.stringContaining("if its row is rejected or not ready, correct the row"),
      });
      expect(report.counts.failed).toBe(1);
    }
    expect(world.sent).toEqual([]);
    expect(world.ledger.rows.get("b")?.intent).toBe("rotate");
  },
);

test("a group that somebody else has renamed is no failure if its tenant is gone", async () => {
  const world = await aSyncedWorld(IDS);
  const settings = { deletion: { ...syncSettings().deletion, gracePeriodMs: DAY } };
  const lost = ({ call, when, id }: Point): void => {
    if (call === "getOrCreate" && when === "after" && id === "a")
      throw new ServiceFailure("SERVICE_ERROR", "it was answered HTTP 501");
  };
  await world.sync({ mark: { kind: "refresh_wanted" }, at: lost });
  const held = world.service.groups.get("a");
  if (held) held.group = { ...held.group, name: "Somebody else's name" };
  world.tenants = tenants("b", "c", "d");
  for (let times = 0; times < 2; times++)
    expect(await world.sync({ settings })).toMatchObject({ outcome: "ok", errors: [] });
  // It is told once the tenant is back, for whom the name counts.
  world.tenants = tenants(...IDS);
  expect((await world.sync({ settings })).errors).toMatchObject([
    { user_group_id: "a", code: "NOT_UPDATED" },
  ]);
});

describe("after a sync's GET for a token failed, the same sync doesn't begin a due rotation", () => {
  const refusesGet = ({ when, call, id }: Point): void => {
    if (when === "before" && call === "getOrCreate" && id === "b")
      throw new ServiceFailure("REFUSED", "GET was answered HTTP 422");
  };
  const rejectB = (world: World): void => {
    world.tenants = [...tenants("a", "c", "d"), { id: "b", name: null, plan: "gold" }];
  };
  const due = { rotation: { maxAgeMs: DAY, window: null, maxPerRun: null, concurrency: 1 } } as const;

  /** A rotation of b is under way, all tokens are to be rotated, and the row of b is rejected. */
  async function anOpenRotation(): Promise<World> {
    const world = await aSyncedWorld(IDS);
    await world.rotate({ kind: "only", ids: new Set(["b"]) }, { at: refusesNew(world, "b") });
    world.store.refused.clear();
    await world.time.sleep(2 * DAY);
    rejectB(world);
    world.service.requests.length = 0;
    return world;
  }

  /** The report has one error of b beside the error of its row. */
  function expectOnce(report: RunReport): void {
    const ofB = report.errors.filter(
      ({ user_group_id, code }) => user_group_id === "b" && code !== "VALUE_NULL",
    );
    expect(report.counts.failed).toBe(1);
    expect(ofB).toHaveLength(1);
    expect(ofB[0]?.message.split("; ")).toHaveLength(1);
  }

  const askedForB = async (world: World, options: StartOptions): Promise<[number, RunReport]> => {
    let asked = 0;
    const report = await world.sync({
      ...options,
      at: (point) => {
        if (point.when === "before" && ["getOrCreate", "rotate"].includes(point.call) && point.id === "b")
          asked++;
        refusesGet(point);
      },
    });
    return [asked, report];
  };

  test("of a group whose rotation was under way", async () => {
    const world = await anOpenRotation();
    const [asked, report] = await askedForB(world, { settings: due });
    expect(asked).toBe(1);
    expectOnce(report);
    expect(report.counts.rotated).toBe(3);
  });

  test("of a group that waits for its next try, and reports the group once", async () => {
    const world = await anOpenRotation();
    // A group waits only from its third failure on.
    for (let times = 0; times < 2; times++) await askedForB(world, { settings: due });
    const [asked, report] = await askedForB(world, { settings: due });
    expect(asked).toBe(0);
    expectOnce(report);
  });

  test("of a group whose token a store has lost", async () => {
    const world = await aSyncedWorld(IDS);
    await world.time.sleep(2 * DAY);
    world.store.tokens.delete("b");
    const [asked, report] = await askedForB(world, { settings: due, verifyTokens: true });
    expect(asked).toBe(1);
    expectOnce(report);
    expect(report.counts.rotated).toBe(3);
  });
});

describe("after a run was killed once its call had taken effect, the next sync stores the live token", () => {
  const byAge = { rotation: { maxAgeMs: DAY, window: null, maxPerRun: null, concurrency: 1 } } as const;
  const renamed = tenants("a").map((row) => ({ ...row, name: "New" }));

  /** Its token is old enough to be rotated. The service refuses to rename it. */
  async function anOldGroup(): Promise<World> {
    const world = await aSyncedWorld(["a"]);
    await world.time.sleep(2 * DAY);
    world.network = async (request) => {
      if (request.operation === "GET" && request.group.name === "New")
        throw new ServiceFailure("REFUSED", "GET was answered HTTP 422");
    };
    return world;
  }

  /** The sixth failure of its change makes the group wait for eight minutes. */
  async function failOften(world: World): Promise<void> {
    world.tenants = renamed;
    for (let times = 0; times < 6; times++) {
      await world.time.sleep(4 * MINUTE);
      await world.sync();
    }
  }

  /** Kills a run right after it has sent this call. */
  async function cutOff(
    world: World,
    call: "rotate" | "remove" | "getOrCreate",
    start = (options: StartOptions): Started => world.start(options),
  ): Promise<void> {
    const run: Started = start({
      settings: byAge,
      at: (point) => {
        if (point.when === "after" && point.call === call) run.instance.kill();
      },
    });
    expect(await run.report).toBe("died");
    world.service.requests.length = 0;
  }

  function expectStored(world: World): void {
    expect(world.store.tokens.get("a")).toBe(world.service.tokens.get("a"));
    expect(world.ledger.rows.get("a")?.intent).toBeNull();
  }

  test("of a group whose change waits for its next try", async () => {
    const world = await anOldGroup();
    await failOften(world);
    await cutOff(world, "rotate");
    expect(await world.sync()).toMatchObject({ outcome: "partial", errors: [{ code: "REFUSED" }] });
    expectStored(world);
  });

  test("of a group whose change is refused once more, and still knows the group's state", async () => {
    const world = await anOldGroup();
    await cutOff(world, "rotate");
    const known = world.ledger.rows.get("a")?.fingerprint;
    world.tenants = renamed;
    expect(await world.sync()).toMatchObject({ outcome: "partial", errors: [{ code: "REFUSED" }] });
    expectStored(world);
    expect(world.ledger.rows.get("a")?.fingerprint).toBe(known);
  });

  test("even if the sync in between was killed too, at its change", async () => {
    const world = await anOldGroup();
    await failOften(world);
    await cutOff(world, "rotate");
    world.network = async () => {};
    await cutOff(world, "getOrCreate");
    await world.sync();
    expectStored(world);
  });

  test("of a group whose state nobody knows, and whose change waits", async () => {
    const world = new World(renamed);
    world.service.put({ user_group_id: "a", name: "Somebody else's name", mapping: {}, properties: {} });
    await world.sync();
    await world.time.sleep(2 * DAY);
    await failOften(world);
    expect(world.ledger.rows.get("a")).toMatchObject({ confirmed: null, fingerprint: UNKNOWN_STATE });
    await cutOff(world, "rotate");
    expect(await world.sync()).toMatchObject({ outcome: "partial", errors: [{ code: "NOT_UPDATED" }] });
    expectStored(world);
  });

  test("of a tenant that comes back while its group is deleted, and whose former change waits", async () => {
    const world = await anOldGroup();
    await failOften(world);
    world.tenants = tenants("b");
    await cutOff(world, "remove");
    world.network = async () => {};
    world.tenants = renamed;
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expectStored(world);
  });
});

test("a sync reports the token that is left of a deleted group, until it is removed", async () => {
  const world = await aSyncedWorld(["a", "b"]);
  const row = world.ledger.rows.get("a");
  if (row) world.ledger.rows.set("a", { ...newRecord("a", row.bucket, row.createdAt), intent: "remove" });
  world.tenants = tenants("b");
  const only = { only: new Set(["a"]) };
  expect(await world.sync(only)).toMatchObject({ outcome: "partial", errors: [{}, { code: "UNSETTLED" }] });
  expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { deleted: 1 } });
});
