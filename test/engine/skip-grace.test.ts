import { describe, expect, it, test } from "vitest";
import type { RunReport } from "../../src/engine/report/run-report.ts";
import type { SyncSettings } from "../../src/engine/sync.ts";
import type { Point } from "../fakes/instance.ts";
import { aSyncedWorld, type StartOptions, tenants, type World } from "../fakes/world.ts";

const DAY = 24 * 3_600_000;

/** One removal in 24 hours. */
const LIMIT = { count: 1, percent: 0 };
const settings: Partial<SyncSettings> = {
  deletion: { when: "absent", gracePeriodMs: DAY, limit: LIMIT },
};
const atOnce: Partial<SyncSettings> = { deletion: { when: "absent", gracePeriodMs: 0, limit: LIMIT } };

/** `sync --only ID --skip-grace`. */
const skippingGrace = (...ids: string[]): StartOptions => ({
  settings,
  only: new Set(ids),
  skipsGrace: true,
});

/** A world in which these tenants have left since the last sync, and `here` has stayed. */
async function left(...ids: string[]): Promise<World> {
  const world = await aSyncedWorld(["here", ...ids]);
  world.tenants = tenants("here");
  return world;
}

const groupsOf = ({ service }: World): string[] => [...service.groups.keys()].sort();

const codes = ({ errors }: RunReport) => errors.map(({ user_group_id, code }) => [user_group_id, code]);

describe("sync --only --skip-grace", () => {
  it("deletes the groups of the named tenants that are gone, and notes nothing of the others", async () => {
    const world = await left("absent", "flagged", "other");
    const [here] = world.tenants;
    world.tenants = [{ id: "flagged", name: "F", removed: true }, here ?? {}];
    const { history } = world.ledger;
    const report = await world.sync(skippingGrace("absent", "flagged"));
    expect(report).toMatchObject({ outcome: "ok", counts: { deleted: 2, missing: 0 }, errors: [] });
    expect(groupsOf(world)).toEqual(["here", "other"]);
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect([...world.ledger.rows.keys()].sort()).toEqual(["here", "other"]);
    expect(world.ledger.rows.get("other")?.absence).toBeNull();
    expect(world.ledger.history).toEqual(history);
  });

  it("deletes what is held, and leaves the limit as it is", async () => {
    const world = await left("a", "b", "c");
    expect(await world.sync({ settings: atOnce })).toMatchObject({ outcome: "held", counts: { held: 3 } });
    const { history } = world.ledger;
    const report = await world.sync({ ...skippingGrace("a", "b"), settings: atOnce });
    expect(report).toMatchObject({ outcome: "ok", counts: { deleted: 2, held: 0 } });
    // The code stood for three deletions.
    expect(world.ledger.history).toEqual({ ...history, held: { code: null, count: 3 } });
    expect(world.ledger.rows.get("c")?.held).toBe("delete");
    expect(await world.sync({ settings: atOnce })).toMatchObject({ outcome: "ok", counts: { deleted: 1 } });
    expect(world.ledger.removals.map(({ kind, user_group_id }) => `${kind} ${user_group_id}`).sort()).toEqual(
      ["delete c", "skip_grace a", "skip_grace b"],
    );
  });

  it("deletes a group too if nobody knows what came of its last call", async () => {
    const world = await left("updated");
    world.tenants = [...tenants("here", "new"), { id: "updated", name: "Another", plan: "gold" }];
    const dying = world.start({
      at: ({ when, call, id }) => {
        if (when === "after" && call === "getOrCreate" && id === "updated") dying.instance.kill();
      },
    });
    await dying.report;
    const underWay = [...world.ledger.rows].filter(([, { intent }]) => intent === "apply");
    expect(underWay.map(([id]) => id).sort()).toEqual(["new", "updated"]);
    await world.time.sleep(60_000);
    world.tenants = tenants("here");
    expect(await world.sync(skippingGrace("new", "updated"))).toMatchObject({ outcome: "ok", errors: [] });
    expect(groupsOf(world)).toEqual(["here"]);
    expect([...world.store.tokens.keys()]).toEqual(["here"]);
  });

  it("names each tenant whose row is there, and deletes no group of one", async () => {
    const world = await left("gone", "rejected", "waiting");
    world.tenants.push({ id: "rejected", name: null }, { id: "waiting", name: "W", ready: false });
    const report = await world.sync(skippingGrace("gone", "here", "rejected", "waiting"));
    expect(report).toMatchObject({ outcome: "partial", counts: { deleted: 1, failed: 3 } });
    for (const id of ["here", "rejected", "waiting"])
      expect(codes(report)).toContainEqual([id, "TENANT_PRESENT"]);
    expect(groupsOf(world)).toEqual(["here", "rejected", "waiting"]);
  });

  it("looks at each tenant once more right before the DELETE", async () => {
    const world = await left("a");
    const comesBack = ({ when, call }: Point): void => {
      if (when === "before" && call === "openLookups") world.tenants.push(...tenants("a"));
    };
    const report = await world.sync({ ...skippingGrace("a"), at: comesBack });
    expect(report).toMatchObject({ outcome: "partial", counts: { deleted: 0, failed: 1 } });
    expect(codes(report)).toEqual([
      ["a", "TENANT_RETURNED"],
      ["a", "TENANT_PRESENT"],
    ]);
    expect(groupsOf(world)).toEqual(["a", "here"]);
  });

  it("deletes nothing while the clocks differ", async () => {
    const world = await left("a");
    const { clock, report } = world.start(skippingGrace("a"));
    clock.jump(DAY);
    expect(await report).toMatchObject({ outcome: "partial", counts: { deleted: 0, missing: 1 } });
    expect(groupsOf(world)).toEqual(["a", "here"]);
  });

  it("is refused with the name of an unknown id", async () => {
    const world = await left("a");
    expect((await world.sync(skippingGrace("a", "A"))).error).toMatchObject({ code: "UNKNOWN_ID" });
    expect(groupsOf(world)).toEqual(["a", "here"]);
  });

  it("reads the source even if nobody is named, but deletes nothing then", async () => {
    const world = await left("a");
    expect(await world.sync({ settings, skipsGrace: true })).toMatchObject({ counts: { missing: 1 } });
    expect(groupsOf(world)).toEqual(["a", "here"]);
  });
});

test("whenever the process dies, the next sync finishes a deletion that was begun", async () => {
  let finished = 0;
  for (let diesAt = 0; ; diesAt++) {
    const world = await left("a");
    const end = await world.start({ ...skippingGrace("a"), diesAt }).report;
    if (end !== "died") break;
    const wasBegun = world.ledger.rows.get("a")?.intent === "delete";
    const wasDone = !world.ledger.rows.has("a");
    await world.time.sleep(60_000);
    await world.sync({ settings });
    expect(groupsOf(world)).toEqual(wasBegun || wasDone ? ["here"] : ["a", "here"]);
    expect(world.store.tokens).toEqual(world.service.tokens);
    if (wasBegun) finished++;
  }
  expect(finished).toBeGreaterThan(3);
});
