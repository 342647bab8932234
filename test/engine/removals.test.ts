import { describe, expect, it } from "vitest";
import { SyncError } from "../../src/core/errors.ts";
import { ServiceFailure } from "../../src/core/service-failure.ts";
import type { SyncSettings } from "../../src/engine/sync.ts";
import { aGroup } from "../builders/groups.ts";
import type { Point } from "../fakes/instance.ts";
import type { TenantRecord } from "../fakes/tenant-source.ts";
import { tenants, World } from "../fakes/world.ts";

const IDS = ["a", "b", "c", "d"];
const HOUR = 3_600_000;

async function aSyncedWorld(settings: Partial<SyncSettings> = {}): Promise<World> {
  const world = new World(tenants(...IDS));
  await world.sync({ settings });
  world.service.requests.length = 0;
  return world;
}

const keep = (world: World, ...ids: string[]): void => {
  world.tenants = tenants(...ids);
};
const rename = (world: World, ...ids: string[]): void => {
  world.tenants = world.tenants.map((tenant) =>
    ids.includes(String(tenant.id)) ? { ...tenant, name: `New name of ${tenant.id}` } : tenant,
  );
};
const requests = (world: World): string[] =>
  world.service.requests.map(({ operation, id }) => `${operation} ${id}`);
const groups = (world: World): string[] => [...world.service.groups.keys()].sort();

/** Has what passes this point, such as `before remove d`, fail so many times. */
function failing(
  place: string,
  failure: SyncError,
  times = Number.POSITIVE_INFINITY,
): (point: Point) => void {
  let failed = 0;
  return ({ when, call, id }) => {
    if (`${when} ${call} ${id}` === place && failed++ < times) throw failure;
  };
}

/** Nothing is left of it anywhere. */
function expectGone(world: World, ...ids: string[]): void {
  for (const id of ids) {
    expect(groups(world)).not.toContain(id);
    expect([...world.store.tokens.keys()]).not.toContain(id);
    expect([...world.ledger.rows.keys()]).not.toContain(id);
  }
}

const deletion = (overrides: Partial<SyncSettings["deletion"]>): Partial<SyncSettings> => ({
  deletion: { when: "absent", gracePeriodMs: 0, limit: { count: 1_000, percent: 100 }, ...overrides },
});

describe("a deletion", () => {
  it("takes two requests where no answer has shown the team yet, and one from then on", async () => {
    const world = await aSyncedWorld();
    keep(world, "a");
    const report = await world.sync({ settings: { concurrency: 1 } });
    expect(report).toMatchObject({ outcome: "ok", counts: { deleted: 3, unchanged: 1 }, requests: 4 });
    expect(requests(world)).toEqual(["GET b", "DELETE b", "DELETE c", "DELETE d"]);
    expectGone(world, "b", "c", "d");
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  it.each<["token" | "id" | "both"]>([["token"], ["id"], ["both"]])(
    "ends the same way with a service that goes by %s: gone already, rotated by somebody else, token lost",
    async (deleteBy) => {
      const world = await aSyncedWorld();
      world.service.deleteBy = deleteBy;
      world.service.groups.delete("b");
      const rotated = world.service.groups.get("c");
      if (rotated) rotated.token = "another";
      world.store.tokens.delete("d");
      keep(world, "a");
      expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { deleted: 3 } });
      expectGone(world, "b", "c", "d");
    },
  );

  it("that the service refuses with the live token too has failed, and is tried again", async () => {
    const world = await aSyncedWorld();
    keep(world, "a", "b", "c");
    const at = failing("before remove d", new ServiceFailure("REFUSED", "no"));
    const report = await world.sync({ at });
    expect(report).toMatchObject({ outcome: "partial", counts: { deleted: 0, failed: 1 } });
    expect(report.errors).toEqual([{ user_group_id: "d", code: "REFUSED", message: "no" }]);
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { deleted: 1 } });
    expectGone(world, "d");
  });

  it("whose answer is lost is done, though its repetition is refused", async () => {
    const world = await aSyncedWorld();
    keep(world, "a", "b", "c");
    let lost = 0;
    const at = ({ when, call }: { when: string; call: string }): void => {
      if (when === "after" && call === "remove" && lost++ === 0)
        throw new ServiceFailure("CONNECTION_LOST", "cut");
    };
    expect(await world.sync({ at })).toMatchObject({ outcome: "ok", counts: { deleted: 1 } });
    expectGone(world, "d");
  });

  it("goes on where a service says of a stale token that it is not allowed", async () => {
    const world = await aSyncedWorld();
    keep(world, "a");
    const refusal = new ServiceFailure("KEY_REFUSED", "DELETE was answered HTTP 403");
    const at = failing("before remove c", refusal, 1);
    const report = await world.sync({ at, settings: { concurrency: 1 } });
    expect(report).toMatchObject({ outcome: "ok", counts: { deleted: 3 } });
  });

  it("never happens in another team, where there may be a group of the same id", async () => {
    const world = await aSyncedWorld();
    keep(world, "a");
    world.service.deleteBy = "id";
    const ours = groups(world);
    world.service.teamId = 8;
    world.service.put(aGroup({ user_group_id: "b" }));
    const report = await world.sync();
    expect(report).toMatchObject({ outcome: "failed", error: { code: "TEAM_CHANGED" } });
    expect(groups(world)).toEqual(["b"]);
    world.service.teamId = 7;
    expect(groups(world)).toEqual(ours);
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { deleted: 3 } });
  });

  it("is done for --only what is named", async () => {
    const world = await aSyncedWorld();
    keep(world, "a", "b");
    expect(await world.sync({ only: new Set(["d"]) })).toMatchObject({ counts: { deleted: 1 } });
    expect(groups(world)).toEqual(["a", "b", "c"]);
  });

  it("whose token the store refuses to remove is not made again to be deleted again", async () => {
    const world = await aSyncedWorld();
    keep(world, "a", "b", "c");
    world.store.notRemovable.add("d");
    const partial = { outcome: "partial", counts: { failed: 1, deleted: 0 } };
    expect(await world.sync()).toMatchObject(partial);
    world.service.requests.length = 0;
    expect(await world.sync()).toMatchObject({ ...partial, errors: [{ code: "TOKEN_NOT_REMOVED" }] });
    world.store.notRemovable.clear();
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { deleted: 1 } });
    expect(requests(world)).toEqual([]);
    expectGone(world, "d");
    expect(world.ledger.removals).toHaveLength(1);
  });

  it("whose token can't be removed gives way to a tenant that comes back", async () => {
    const world = await aSyncedWorld();
    keep(world, "a", "b", "c");
    world.store.notRemovable.add("d");
    await world.sync();
    keep(world, ...IDS);
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { created: 1 } });
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  it("is known to be done where the token store goes away before the token is removed", async () => {
    const world = await aSyncedWorld();
    keep(world, "a");
    const away = new SyncError("TOKEN_STORE_UNAVAILABLE", "it is away");
    const at = ({ when, call }: Point): void => {
      if (when === "before" && call === "removeTokens") throw away;
    };
    expect(await world.sync({ at })).toMatchObject({ outcome: "failed", error: { code: away.code } });
    const deleted = IDS.length - groups(world).length;
    expect(deleted).toBeGreaterThan(1);
    world.service.requests.length = 0;
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { deleted: 3 } });
    expect(requests(world).filter((request) => request.startsWith("GET"))).toEqual([]);
    expectGone(world, "b", "c", "d");
  });
});

describe("a group that was never confirmed", () => {
  it("is found through its intent and removed where its tenant is gone", async () => {
    const world = new World(tenants("a", "b"));
    const at = failing("after getOrCreate b", new ServiceFailure("BAD_RESPONSE", "HTML"));
    await world.sync({ at });
    expect(groups(world)).toEqual(["a", "b"]);
    keep(world, "a");
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { deleted: 1 } });
    expectGone(world, "b");
  });

  it("is forgotten without a request where the service had refused to make it", async () => {
    const world = new World(tenants("a", "b"));
    const at = failing("before getOrCreate b", new ServiceFailure("REFUSED", "no"));
    await world.sync({ at });
    keep(world, "a");
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { deleted: 0 }, requests: 0 });
    expectGone(world, "b");
  });
});

describe("the grace period", () => {
  const settings = deletion({ gracePeriodMs: 24 * HOUR });
  const later = async (world: World, hours: number): Promise<number> => {
    await world.time.sleep(hours * HOUR);
    return (await world.sync({ settings })).counts.deleted;
  };

  it("runs from the first read without the tenant", async () => {
    const world = await aSyncedWorld(settings);
    keep(world, "a", "b", "c");
    expect(await later(world, 100)).toBe(0);
    expect(await later(world, 23)).toBe(0);
    expect(await later(world, 1)).toBe(1);
    expectGone(world, "d");
  });

  it("begins anew for a tenant that was back in between, be it as a row that can't be used", async () => {
    const world = await aSyncedWorld(settings);
    keep(world, "a", "b", "c");
    await later(world, 1);
    world.tenants = [...tenants("a", "b", "c"), { id: "d", name: null }];
    await later(world, 23);
    keep(world, "a", "b", "c");
    expect(await later(world, 1)).toBe(0);
    expect(await later(world, 23)).toBe(0);
    expect(await later(world, 1)).toBe(1);
  });

  it.each<[string, (world: World) => Promise<unknown>]>([
    [
      "failed",
      (world) =>
        world.sync({
          settings,
          at: ({ call }) => {
            if (call === "sourceBuckets") throw new SyncError("SOURCE_UNAVAILABLE", "the connection broke");
          },
        }),
    ],
    [
      "died",
      async (world) => {
        const { report, instance } = world.start({ settings, diesAt: 20 });
        expect(await report).toBe("died");
        expect(instance.passed.map(({ call }) => call)).toContain("openSource");
        // A process that is dead renews no lease.
        await world.time.sleep(60_000);
      },
    ],
    [
      "showed nothing",
      async (world) => {
        const before = world.tenants;
        world.tenants = [];
        await world.sync({ settings });
        world.tenants = before;
      },
    ],
    [
      "was held",
      async (world) => {
        const before = world.tenants;
        world.tenants = before.map((tenant) => ({ ...tenant, plan: "new" }));
        const held = deletion({ gracePeriodMs: 24 * HOUR, limit: { count: 0, percent: 0 } });
        const report = await world.sync({ settings: { ...held, update: "replace" } });
        expect(report.outcome).toBe("held");
        world.tenants = before;
      },
    ],
  ])("stands still from a good read to the next where one in between %s", async (_, bad) => {
    const world = await aSyncedWorld(settings);
    keep(world, "a", "b", "c");
    await later(world, 1);
    await world.time.sleep(12 * HOUR);
    await bad(world);
    expect(await later(world, 12)).toBe(0);
    expect(await later(world, 23)).toBe(0);
    expect(await later(world, 1)).toBe(1);
  });

  it("is over in time wherever the run died that first read without the tenant, though none had read for long", async () => {
    for (let diesAt = 0, end: unknown = "died"; end === "died"; diesAt++) {
      const world = await aSyncedWorld(settings);
      keep(world, "a", "b", "c");
      await world.time.sleep(100 * HOUR);
      end = await world.start({ settings, diesAt }).report;
      await world.sync({ settings });
      await later(world, 24);
      expect({ diesAt, groups: groups(world) }).toEqual({ diesAt, groups: ["a", "b", "c"] });
    }
  });

  it("of zero deletes at the first read", async () => {
    const world = await aSyncedWorld();
    keep(world, "a", "b", "c");
    expect((await world.sync()).counts.deleted).toBe(1);
  });
});

it.each<[string, (world: World) => void, { only?: ReadonlySet<string> }]>([
  ["the next run is about another group alone", () => {}, { only: new Set(["a"]) }],
  ["its row can't be used any more", (world) => change(world, "b", { name: null }), {}],
])("what an earlier run has begun counts against the limit, also where %s", async (_, meanwhile, options) => {
  const settings = { ...deletion({ limit: { count: 1, percent: 0 } }), update: "replace" } as const;
  for (let diesAt = 0, end: unknown = "died"; end === "died"; diesAt++) {
    const world = await aSyncedWorld(settings);
    const before = world.service.tokens;
    change(world, "b", { plan: "new" });
    end = await world.start({ settings, diesAt }).report;
    meanwhile(world);
    change(world, "a", { plan: "new" });
    await world.sync({ settings, ...options });
    const replaced = [...before].filter(([id, token]) => world.service.tokens.get(id) !== token);
    expect({ diesAt, isWithinLimit: replaced.length <= 1 }).toEqual({ diesAt, isWithinLimit: true });
  }
});

function change(world: World, id: string, columns: TenantRecord): void {
  world.tenants = world.tenants.map((tenant) => (tenant.id === id ? { ...tenant, ...columns } : tenant));
}

describe("what exceeds the limit", () => {
  const settings = { ...deletion({ limit: { count: 1, percent: 10 } }), update: "replace" } as const;

  async function aHoldingWorld(): Promise<{ world: World; code: string }> {
    const world = await aSyncedWorld(settings);
    world.tenants = [...tenants("a", "b"), ...tenants("new")];
    rename(world, "b");
    const report = await world.sync({ settings });
    expect(report).toMatchObject({
      outcome: "held",
      counts: { held: 3, created: 1, deleted: 0, replaced: 0 },
    });
    return { world, code: report.hold?.approval ?? "" };
  }

  it("is held as one set, while everything else goes on", async () => {
    const { world, code } = await aHoldingWorld();
    expect(groups(world)).toEqual(["a", "b", "c", "d", "new"]);
    expect(requests(world)).toEqual(["GET new"]);
    const again = await world.sync({ settings });
    expect(again.hold).toMatchObject({
      approval: code,
      groups: [
        { kind: "replace", user_group_id: "b" },
        { kind: "delete", user_group_id: "c" },
        { kind: "delete", user_group_id: "d" },
      ],
    });
    expect(again.requests).toBe(0);
  });

  it("is done once it is approved by its code, and that code is worthless from then on", async () => {
    const { world, code } = await aHoldingWorld();
    const report = await world.sync({ settings, approval: code });
    expect(report).toMatchObject({ outcome: "ok", counts: { held: 0, deleted: 2, replaced: 1 } });
    expectGone(world, "c", "d");
    expect(world.service.groups.get("b")?.group.name).toBe("New name of b");
    expect(world.store.tokens).toEqual(world.service.tokens);

    // The same set, all over again.
    world.tenants = tenants("a", "b", "c", "d", "new");
    await world.sync({ settings: { ...settings, ...deletion({}) } });
    world.tenants = tenants("a", "b", "new");
    rename(world, "b");
    const second = await world.sync({ settings, approval: code });
    expect(second).toMatchObject({ outcome: "held", counts: { held: 3, deleted: 0, replaced: 0 } });
    expect(second.errors.map((error) => error.code)).toEqual(["APPROVAL_MISMATCH", "DELETIONS_HELD"]);
  });

  it("is not approved by the code of another set", async () => {
    const { world, code } = await aHoldingWorld();
    keep(world, "a", "new");
    expect(await world.sync({ settings, approval: code })).toMatchObject({
      outcome: "held",
      counts: { deleted: 0 },
    });
    expect(groups(world)).toEqual(["a", "b", "c", "d", "new"]);
  });

  it("stays due as it is, though the clock stands still", async () => {
    const graced = deletion({ gracePeriodMs: 24 * HOUR, limit: { count: 1, percent: 10 } });
    const world = await aSyncedWorld(graced);
    keep(world, "a", "b");
    await world.sync({ settings: graced });
    await world.time.sleep(24 * HOUR);
    const first = await world.sync({ settings: graced });
    expect(first.counts).toMatchObject({ held: 2 });
    const second = await world.sync({ settings: graced });
    expect(second.hold).toEqual(first.hold);
    // Back again: nothing is held, and everybody has a grace period of their own.
    keep(world, ...IDS);
    expect(await world.sync({ settings: graced })).toMatchObject({ outcome: "ok", counts: { held: 0 } });
    keep(world, "a", "b");
    expect(await world.sync({ settings: graced })).toMatchObject({ outcome: "ok", counts: { missing: 2 } });
  });

  it("counts what was removed in the last 24 hours", async () => {
    const world = await aSyncedWorld(settings);
    keep(world, "a", "b", "c");
    expect((await world.sync({ settings })).counts.deleted).toBe(1);
    keep(world, "a", "b");
    expect((await world.sync({ settings })).counts.held).toBe(1);
    await world.time.sleep(25 * HOUR);
    expect((await world.sync({ settings })).counts.deleted).toBe(1);
  });

  it("counts what died before it was recorded, though the tenant is back and has a group again", async () => {
    const world = await aSyncedWorld(settings);
    keep(world, "a", "b", "c");
    const die = ({ when, call }: Point): Promise<void> | undefined =>
      when === "after" && call === "remove" ? new Promise(() => {}) : undefined;
    const { instance } = world.start({ settings, at: die });
    await world.time.sleep(60_000);
    instance.kill();
    expect(world.service.groups.has("d")).toBe(false);
    keep(world, "a", "b", "c", "d");
    expect(await world.sync({ settings })).toMatchObject({ outcome: "ok", counts: { replaced: 1 } });
    keep(world, "a", "b", "d");
    expect(await world.sync({ settings })).toMatchObject({
      outcome: "held",
      counts: { deleted: 0, held: 1 },
    });
  });

  it("counts what was begun and waits for its next try", async () => {
    const world = await aSyncedWorld(settings);
    keep(world, "a", "b", "c");
    // The service has deleted the group, and what is left of it stays under way.
    world.store.notRemovable.add("d");
    for (let times = 0; times < 3; times++) await world.sync({ settings });
    world.service.requests.length = 0;
    keep(world, "a", "b");
    expect(await world.sync({ settings })).toMatchObject({ counts: { failed: 1, held: 1 }, requests: 0 });
  });
});

describe("bad evidence:", () => {
  it("a source without a valid row shows no absence, whatever the grace period and the limit", async () => {
    const world = await aSyncedWorld();
    for (const nothing of [[], [{ id: "a", name: null }, { id: null }]]) {
      world.tenants = nothing;
      const report = await world.sync();
      expect(report).toMatchObject({ outcome: "held", counts: { deleted: 0 }, requests: 0 });
      expect(report.hold).toMatchObject({ code: "SOURCE_INCONCLUSIVE", approval: null });
    }
    expect(groups(world)).toEqual(IDS);
    keep(world, ...IDS);
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { unchanged: 4, missing: 0 } });
  });

  it.each(["flagged", "never"] as const)(
    "a source without a valid row is not in sync where %s deletes no group of an absent tenant",
    async (when) => {
      const settings = deletion({ when });
      const world = await aSyncedWorld(settings);
      keep(world);
      const report = await world.sync({ settings });
      expect(report).toMatchObject({ outcome: "held", counts: { missing: 4, held: 0 }, requests: 0 });
      expect(report.hold).toMatchObject({
        code: "SOURCE_INCONCLUSIVE",
        message: expect.stringContaining("4 groups"),
      });
      expect(world.ledger.runs[0]?.result).toMatchObject({
        outcome: "held",
        error: { code: "SOURCE_INCONCLUSIVE" },
      });
      keep(world, ...IDS);
      expect(await world.sync({ settings })).toMatchObject({ outcome: "ok", counts: { missing: 0 } });
    },
  );

  it("a source that the config now names instead of another deletes nobody without approval", async () => {
    const world = await aSyncedWorld();
    const elsewhere = { source: "another table" };
    world.tenants = tenants("d", "x");
    const report = await world.sync({ settings: elsewhere });
    expect(report).toMatchObject({ outcome: "held", counts: { held: 3, created: 1, unchanged: 1 } });
    expect(report.hold?.message).toContain("another source");
    // It is still another source at the second look.
    expect(await world.sync({ settings: elsewhere })).toMatchObject({ outcome: "held", counts: { held: 3 } });
    // The way out: the old source again, or approval.
    keep(world, ...IDS);
    const back = await world.sync();
    expect(back).toMatchObject({ outcome: "held", counts: { held: 1, unchanged: 4 } });
    const approval = back.hold?.approval ?? "";
    expect(await world.sync({ approval })).toMatchObject({ outcome: "ok", counts: { deleted: 1 } });
    expect(groups(world)).toEqual(IDS);
  });

  it("a tenant that was seen in the present source, and then not, is like any other", async () => {
    const world = await aSyncedWorld();
    const elsewhere = { source: "another table" };
    await world.sync({ settings: elsewhere });
    keep(world, "a", "b", "c");
    expect(await world.sync({ settings: elsewhere })).toMatchObject({
      outcome: "ok",
      counts: { deleted: 1 },
    });
  });

  it("a ledger that was lost deletes nobody within a grace period", async () => {
    const graced = deletion({ gracePeriodMs: 24 * HOUR });
    const world = await aSyncedWorld(graced);
    world.ledger.clear();
    keep(world, "a", "b", "c");
    const { events, report } = world.start({ settings: graced });
    expect(await report).toMatchObject({ counts: { adopted: 3, deleted: 0 } });
    expect(events).toContainEqual(expect.objectContaining({ code: "LEDGER_EMPTY" }));
    keep(world, "a", "b");
    await world.time.sleep(23 * HOUR);
    expect(await world.sync({ settings: graced })).toMatchObject({ counts: { missing: 1, deleted: 0 } });
  });
});

describe("who is gone", () => {
  const flagged = (settings: Partial<SyncSettings["deletion"]> = {}) =>
    deletion({ when: "flagged", ...settings });

  it("is deleted by its flag alone where that is the policy", async () => {
    const world = await aSyncedWorld(flagged());
    world.tenants = [...tenants("a", "b"), ...tenants("c").map((row) => ({ ...row, removed: true }))];
    const report = await world.sync({ settings: flagged() });
    expect(report).toMatchObject({ outcome: "ok", counts: { deleted: 1, missing: 1, unchanged: 2 } });
    expect(groups(world)).toEqual(["a", "b", "d"]);
    // The flagged row stays where it is, and is nobody's tenant.
    expect(await world.sync({ settings: flagged() })).toMatchObject({
      counts: { created: 0, deleted: 0, missing: 1, unchanged: 2 },
      requests: 0,
    });
  });

  it("is deleted by its flag after the grace period, even if its row is purged meanwhile", async () => {
    const graced = flagged({ gracePeriodMs: 24 * HOUR });
    const world = await aSyncedWorld(graced);
    world.tenants = [...tenants("a", "b"), ...tenants("c").map((row) => ({ ...row, removed: true }))];
    expect(await world.sync({ settings: graced })).toMatchObject({ counts: { missing: 2, deleted: 0 } });
    await world.time.sleep(HOUR);
    keep(world, "a", "b");
    expect(await world.sync({ settings: graced })).toMatchObject({ counts: { missing: 2, deleted: 0 } });
    await world.time.sleep(23 * HOUR);
    expect(await world.sync({ settings: graced })).toMatchObject({ counts: { missing: 1, deleted: 1 } });
    expectGone(world, "c");
    expect(groups(world)).toEqual(["a", "b", "d"]);
  });

  it("is kept if its row came back without the flag before it vanished", async () => {
    const graced = flagged({ gracePeriodMs: 24 * HOUR });
    const world = await aSyncedWorld(graced);
    world.tenants = world.tenants.map((row) => ({ ...row, removed: row.id === "c" }));
    await world.sync({ settings: graced });
    keep(world, ...IDS);
    await world.sync({ settings: graced });
    keep(world, "a", "b", "d");
    for (let days = 0; days < 3; days++) {
      expect(await world.sync({ settings: graced })).toMatchObject({ counts: { missing: 1, deleted: 0 } });
      await world.time.sleep(24 * HOUR);
    }
    expect(groups(world)).toEqual(IDS);
  });

  it("is kept and reported where nothing is ever deleted", async () => {
    const world = await aSyncedWorld();
    keep(world, "a");
    const never = deletion({ when: "never" });
    expect(await world.sync({ settings: never })).toMatchObject({ outcome: "ok", counts: { missing: 3 } });
    expect(groups(world)).toEqual(IDS);
  });

  it("is said once, when it is noticed", async () => {
    const world = await aSyncedWorld();
    keep(world, "a", "b", "c");
    const settings = deletion({ when: "never" });
    const first = world.start({ settings });
    await first.report;
    expect(first.events).toContainEqual({ kind: "left", user_group_id: "d", absence: "absent" });
    const again = world.start({ settings });
    await again.report;
    expect(again.events).not.toContainEqual(expect.objectContaining({ kind: "left" }));
  });
});

describe("a replacement", () => {
  const settings = { update: "replace" } as const;

  it.each<["token" | "id" | "both"]>([["token"], ["id"], ["both"]])(
    "gives a service that goes by %s the new state, and the application the new token",
    async (deleteBy) => {
      const world = await aSyncedWorld(settings);
      world.service.deleteBy = deleteBy;
      rename(world, "a", "b", "c", "d");
      const before = world.service.tokens;
      world.service.groups.delete("b");
      const rotated = world.service.groups.get("c");
      if (rotated) rotated.token = "another";
      world.store.tokens.delete("d");
      const report = await world.sync({ settings });
      expect(report).toMatchObject({ outcome: "ok", counts: { replaced: 4, updated: 0, unverified: 0 } });
      for (const [id, { group, token }] of world.service.groups) {
        expect(group.name).toBe(`New name of ${id}`);
        expect(token).not.toBe(before.get(id));
      }
      expect(world.store.tokens).toEqual(world.service.tokens);
      expect(await world.sync({ settings })).toMatchObject({ counts: { unchanged: 4 }, requests: 0 });
    },
  );

  it("costs two requests, once an answer has shown the team", async () => {
    const world = await aSyncedWorld(settings);
    rename(world, "a", "b");
    await world.sync({ settings: { ...settings, concurrency: 1 } });
    expect(requests(world)).toEqual(["GET a", "DELETE a", "GET a", "DELETE b", "GET b"]);
  });

  it("of a group that is gone already is done by the GET that tells so", async () => {
    const world = await aSyncedWorld(settings);
    rename(world, "a", "b");
    world.service.groups.delete("b");
    const report = await world.sync({ settings: { ...settings, concurrency: 1 } });
    expect(report).toMatchObject({ outcome: "ok", counts: { replaced: 2 } });
    expect(requests(world)).toEqual(["GET a", "DELETE a", "GET a", "DELETE b", "GET b"]);
  });

  it("is finished even where the run is told to stop between its two calls", async () => {
    const world = await aSyncedWorld(settings);
    rename(world, "a");
    const stop = new AbortController();
    const at = ({ when, call }: Point): void => {
      if (when === "after" && call === "remove") stop.abort();
    };
    const report = await world.sync({ settings, at, signal: stop.signal });
    expect(report).toMatchObject({
      outcome: "failed",
      error: { code: "INTERRUPTED" },
      counts: { replaced: 1 },
    });
    expect(groups(world)).toEqual(IDS);
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  it.each(["TIMEOUT", "BAD_RESPONSE"] as const)(
    "whose DELETE was answered with %s is finished, for there may be no group any more",
    async (code) => {
      for (const [ids, removals] of [
        [["a"], { replaced: 1 }],
        [["a", "b"], { replaced: 2 }],
      ] as const) {
        const world = await aSyncedWorld(settings);
        rename(world, ...ids);
        const last = ids.at(-1);
        const at = ({ when, call, id }: Point): void => {
          if (when === "after" && call === "remove" && id === last)
            throw new ServiceFailure(code, "no answer");
        };
        const report = await world.sync({ settings: { ...settings, concurrency: 1 }, at });
        expect(report).toMatchObject({ outcome: "ok", counts: removals });
        expect(groups(world)).toEqual(IDS);
        expect(world.store.tokens).toEqual(world.service.tokens);
      }
    },
  );

  it("is finished also where the run is told to stop while its DELETE may have been carried out", async () => {
    for (const ids of [["a"], ["a", "b"]]) {
      const world = await aSyncedWorld(settings);
      rename(world, ...ids);
      const last = ids.at(-1);
      const stop = new AbortController();
      const at = ({ when, call, id }: Point): void => {
        if (when !== "after" || call !== "remove" || id !== last) return;
        stop.abort();
        throw new ServiceFailure("TIMEOUT", "no answer");
      };
      await world.sync({ settings: { ...settings, concurrency: 1 }, at, signal: stop.signal });
      expect(groups(world)).toEqual(IDS);
      expect(world.store.tokens).toEqual(world.service.tokens);
    }
  });

  it("whose DELETE was not carried out has failed, and is tried again", async () => {
    const world = await aSyncedWorld(settings);
    rename(world, "a");
    const report = await world.sync({
      settings,
      at: failing("before remove a", new ServiceFailure("BAD_RESPONSE", "HTML")),
    });
    expect(report).toMatchObject({ outcome: "partial", counts: { replaced: 0, failed: 1 } });
    expect(report.errors).toMatchObject([{ user_group_id: "a", code: "BAD_RESPONSE" }]);
    expect(await world.sync({ settings })).toMatchObject({ outcome: "ok", counts: { replaced: 1 } });
  });

  it("is not taken for done where the service calls a group new that has the old token", async () => {
    const world = await aSyncedWorld(settings);
    world.service.saysNew = true;
    rename(world, "a", "b");
    expect(await world.sync({ settings })).toMatchObject({ outcome: "ok", counts: { replaced: 2 } });
    expect(world.service.groups.get("a")?.group.name).toBe("New name of a");
    expect(world.service.groups.get("b")?.group.name).toBe("New name of b");
    // Nor is an update.
    rename(world, "c");
    expect((await world.sync()).errors).toMatchObject([{ user_group_id: "c", code: "NOT_UPDATED" }]);
  });

  it("that the service only claims to have done has failed, with the live token stored", async () => {
    const world = await aSyncedWorld(settings);
    rename(world, "a");
    world.service.deletes = false;
    const report = await world.sync({ settings });
    expect(report).toMatchObject({ outcome: "partial", counts: { replaced: 0, failed: 1 } });
    expect(report.errors).toMatchObject([{ user_group_id: "a", code: "NOT_REPLACED" }]);
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  it("takes the place of an update that the service did not take", async () => {
    const world = await aSyncedWorld();
    rename(world, "a");
    for (let times = 0; times < 5; times++) {
      expect((await world.sync()).errors).toMatchObject([{ code: "NOT_UPDATED" }]);
    }
    // Its next try as an update is far away.
    expect(await world.sync({ settings })).toMatchObject({ outcome: "ok", counts: { replaced: 1 } });
    expect(world.service.groups.get("a")?.group.name).toBe("New name of a");
  });
});
