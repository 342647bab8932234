import { describe, expect, it, test } from "vitest";
import { ServiceFailure } from "../../src/core/failure/service-failure.ts";
import { RecentWrites } from "../../src/core/record/recent-writes.ts";
import type { Forgotten } from "../../src/engine/forget.ts";
import { failing } from "../fakes/instance.ts";
import { NO_SERVICE } from "../fakes/ledger/ledger-state.ts";
import { VirtualClock } from "../fakes/virtual-time.ts";
import { aSyncedWorld, type StartOptions, tenants, World } from "../fakes/world.ts";
import { someOf } from "../support/long.ts";

async function forget(world: World, deletesGroups: boolean, options: StartOptions = {}): Promise<Forgotten> {
  const ended = await world.startForget({ deletesGroups }, options).report;
  if (ended === "died") throw new Error("it died");
  return ended;
}

const KEEP = false;
const DELETE = true;

const groupsOf = (world: World): string[] => [...world.service.groups.keys()].sort();
const tokensOf = (world: World): string[] => [...world.store.tokens.keys()].sort();
const rowsOf = (world: World): string[] => [...world.ledger.rows.keys()].sort();

function expectForgotten(world: World, moment: object = {}): void {
  const { rows, service, removals, formerTokens, runs, requests } = world.ledger;
  expect({ ...moment, rows: [...rows], service, removals, formerTokens, requests: requests.size }).toEqual({
    ...moment,
    rows: [],
    service: NO_SERVICE,
    removals: [],
    formerTokens: [],
    requests: 0,
  });
  expect(runs.map(({ command }) => command)).toEqual(["forget"]);
  expect(world.store.owner).toBeNull();
}

describe("a scope whose groups stay", () => {
  it("can be forgotten where no mark can be read", async () => {
    const world = await aSyncedWorld(["a"]);
    world.store.isUnmarkable = true;
    expect(await forget(world, KEEP)).toMatchObject({ isForgotten: true, free: [] });
    expect(rowsOf(world)).toEqual([]);
  });

  it("is there still, and can be forgotten again, if the process died at any moment", async () => {
    const unharmed = (await aSyncedWorld(["a", "b"])).startForget({ deletesGroups: KEEP });
    await unharmed.report;
    const moments = unharmed.instance.passed.length;
    expect(moments).toBeGreaterThan(8);
    for (let diesAt = 0; diesAt < moments; diesAt++) {
      const world = await aSyncedWorld(["a", "b"]);
      expect(await world.startForget({ deletesGroups: KEEP }, { diesAt }).report).toBe("died");
      expect([[], ["a", "b"]]).toContainEqual(rowsOf(world));
      await forget(world, KEEP);
      expectForgotten(world, { diesAt });
      expect(groupsOf(world)).toEqual(["a", "b"]);
    }
  });
});

describe("a scope whose groups are deleted", () => {
  it("tells of each group that it is deleted because its scope is forgotten", async () => {
    const world = await aSyncedWorld(["a"]);
    const { events, report } = world.startForget({ deletesGroups: DELETE });
    await report;
    expect(events).toContainEqual({ kind: "deleted", user_group_id: "a", absence: "forgotten" });
  });

  it("deletes the canary of a probe too, which counts as no group and has no token", async () => {
    const world = await aSyncedWorld(["a"]);
    const noDelete = failing("before", "remove", () => new ServiceFailure("REFUSED", "no"));
    expect(await world.startProbe({ at: noDelete }).report).toMatchObject({ canary: { gone: false } });
    const { instance, report } = world.startForget({ deletesGroups: DELETE });
    expect(await report).toMatchObject({ isForgotten: true, report: { counts: { deleted: 1 } } });
    expect(groupsOf(world)).toEqual([]);
    expect(instance.history("before removeTokens")).toEqual(["before removeTokens a"]);
  });

  it("deletes groups beyond deletion.limit, and those that wait for their next try", async () => {
    const world = await aSyncedWorld(["a", "b", "c"]);
    const deletion = { when: "never", gracePeriodMs: 9e9, limit: { count: 0, percent: 0 } } as const;
    expect(await forget(world, DELETE, { settings: { deletion } })).toMatchObject({ isForgotten: true });
    expect(groupsOf(world)).toEqual([]);
  });

  it("stays as it is if the API key belongs to another team", async () => {
    const world = await aSyncedWorld(["a", "b"]);
    world.service.teamId = 8;
    const { report, isForgotten } = await forget(world, DELETE);
    expect({ isForgotten, code: report.error?.code }).toEqual({ isForgotten: false, code: "TEAM_CHANGED" });
    // What the first GET made there is taken back.
    expect(groupsOf(world)).toEqual([]);
    world.service.teamId = 7;
    expect(groupsOf(world)).toEqual(["a", "b"]);
    expect(tokensOf(world)).toEqual(["a", "b"]);
    expect(await forget(world, DELETE)).toMatchObject({ isForgotten: true });
  });

  it("stays as it is if its tokens lie where another scope's tokens are", async () => {
    const world = await aSyncedWorld(["a", "b"]);
    world.store.owner = { ...world.store.owner!, name: "production" };
    const { report, isForgotten } = await forget(world, DELETE);
    expect({ isForgotten, code: report.error?.code }).toEqual({
      isForgotten: false,
      code: "CONFIG_TOKENS_OWNED",
    });
    expect(tokensOf(world)).toEqual(["a", "b"]);
  });

  it("goes on where it was told to stop", async () => {
    const world = await aSyncedWorld(["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]);
    const stop = new AbortController();
    const { report, isForgotten } = await forget(world, DELETE, {
      signal: stop.signal,
      settings: { concurrency: 1 },
      at: ({ call, when }) => {
        if (call === "remove" && when === "after") stop.abort();
      },
    });
    expect({ isForgotten, code: report.error?.code }).toEqual({ isForgotten: false, code: "INTERRUPTED" });
    expect(report.error?.hint).toMatch(/^the same command goes on from there; a sync .* groups again$/);
    expect(rowsOf(world)).toEqual(groupsOf(world));
    expect(await forget(world, DELETE)).toMatchObject({ isForgotten: true });
    expect(groupsOf(world)).toEqual([]);
  });

  const ALL = [
    { deleteBy: "token", existing: "keep", sharesLedger: false, concurrency: 1 },
    { deleteBy: "id", existing: "keep", sharesLedger: true, concurrency: 3 },
    { deleteBy: "both", existing: "update", sharesLedger: false, concurrency: 3 },
  ] as const;

  describe.each(someOf(ALL, 2))("$deleteBy, $existing, one database: $sharesLedger", (circumstances) => {
    const { concurrency } = circumstances;
    const settings = { concurrency };
    const aWorld = (): World => {
      const world = new World(tenants("a", "b", "c", "d"));
      world.service.deleteBy = circumstances.deleteBy;
      world.service.existing = circumstances.existing;
      world.store.sharesLedger = circumstances.sharesLedger;
      return world;
    };

    const startForget = (world: World, diesAt: number) =>
      world.startForget({ deletesGroups: DELETE }, { settings, diesAt });

    it.each<[string, (world: World, diesAt: number) => Promise<unknown>]>([
      [
        "an earlier forget",
        async (world, diesAt) => {
          await world.sync({ settings });
          return startForget(world, diesAt).report;
        },
      ],
      ["a sync", (world, diesAt) => world.start({ settings, diesAt }).report],
      [
        "a rotation",
        async (world, diesAt) => {
          await world.sync({ settings });
          return world.startRotation({ kind: "all" }, { settings, diesAt }).report;
        },
      ],
    ])("leaves nothing behind, at whatever moment %s died", async (_, run) => {
      for (let diesAt = 0, end: unknown = "died"; end === "died"; diesAt++) {
        const world = aWorld();
        end = await run(world, diesAt);
        for (const id of groupsOf(world)) expect(rowsOf(world)).toContain(id);
        expect(await forget(world, DELETE, { settings })).toMatchObject({ isForgotten: true });
        expect({ diesAt, groups: groupsOf(world), tokens: tokensOf(world) }).toEqual({
          diesAt,
          groups: [],
          tokens: [],
        });
        expectForgotten(world, { diesAt });
      }
    });

    it("is there again, in sync, if its config goes on after a forget that died at any moment", async () => {
      for (let diesAt = 0, end: unknown = "died"; end === "died"; diesAt++) {
        const world = aWorld();
        await world.sync({ settings });
        end = await startForget(world, diesAt).report;
        const { outcome } = await world.sync({ settings });
        expect({ diesAt, outcome, groups: groupsOf(world) }).toEqual({
          diesAt,
          outcome: "ok",
          groups: ["a", "b", "c", "d"],
        });
        expect(world.store.tokens).toEqual(world.service.tokens);
      }
    });
  });
});

describe("somebody else at work", () => {
  test.each([KEEP, DELETE])(
    "holds the lease: nothing is changed, even if a daemon holds it that hands it over (deletes: %s)",
    async (deletesGroups) => {
      const world = await aSyncedWorld(["a"]);
      const renew = (): void => {
        const now = world.time.now();
        const expiresAt = new Date(now.getTime() + 45_000);
        const daemon = { holder: "the daemon", handOverMs: 15_000 };
        world.ledger.lease = { epoch: 9, ...daemon, acquiredAt: now, expiresAt };
      };
      renew();
      const at: StartOptions["at"] = ({ call, when }) => {
        if (call === "acquireLease" && when === "before") renew();
      };
      const ended = await forget(world, deletesGroups, { at }).catch((error: unknown) => ({
        report: { error },
      }));
      expect(ended.report.error).toMatchObject({
        code: "LEASE_HELD",
        message: expect.stringContaining("the daemon"),
        hint: expect.stringContaining("stop that daemon"),
      });
      expect(world.ledger.requestsMade).toBe(0);
      expect({ rows: rowsOf(world), sent: world.service.requests }).toEqual({ rows: ["a"], sent: [] });
      expect(world.store.owner).not.toBeNull();
    },
  );

  it("stood still while the scope was forgotten, and writes nothing afterwards", async () => {
    const settings = { concurrency: 2 };
    const unharmed = new World(tenants("a", "b", "c")).start({ settings });
    await unharmed.report;
    const moments = unharmed.instance.passed.length;
    for (let pausedAt = 1; pausedAt <= moments; pausedAt++) {
      const world = new World(tenants("a", "b", "c"));
      world.store.sharesLedger = true;
      const until = 600_000;
      const paused = world.start({
        settings,
        at: (_, nth) =>
          nth < pausedAt ? undefined : world.time.sleep(Math.max(0, until - world.time.elapsed)),
      });
      await world.time.sleep(200_000);
      await forget(world, DELETE);
      expect(world.time.elapsed).toBeLessThan(until);
      const isOver = world.ledger.rows.size === 0;
      await paused.report;
      expect({ pausedAt, isOver, rows: rowsOf(world), tokens: tokensOf(world) }).toEqual({
        pausedAt,
        isOver: true,
        rows: [],
        tokens: [],
      });
      expect(groupsOf(world)).toEqual([]);
    }
  });

  it("is a daemon between two syncs: its next sync is refused, and sends nothing", async () => {
    const world = await aSyncedWorld(["a", "b"]);
    const ofDaemon = new RecentWrites(new VirtualClock(world.time).now());
    await world.time.sleep(60_000);
    await forget(world, DELETE);
    world.service.requests.length = 0;
    world.recent = ofDaemon;
    for (let again = 0; again < 2; again++) {
      await world.time.sleep(60_000);
      expect(await world.sync()).toMatchObject({ outcome: "failed", error: { code: "SCOPE_FORGOTTEN" } });
    }
    expect({ sent: world.service.requests, rows: rowsOf(world) }).toEqual({ sent: [], rows: [] });
    world.recent = new RecentWrites(new VirtualClock(world.time).now());
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { created: 2 } });
    world.recent = ofDaemon;
    expect(await world.sync()).toMatchObject({ outcome: "ok", requests: 0 });
  });
});
