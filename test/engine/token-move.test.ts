import { describe, expect, test } from "vitest";
import { ServiceFailure } from "../../src/core/service-failure.ts";
import type { SyncSettings } from "../../src/engine/sync.ts";
import type { Point } from "../fakes/instance.ts";
import { type StartOptions, tenants, World } from "../fakes/world.ts";

const MINUTE = 60_000;
const ELSEWHERE: Partial<SyncSettings> = { tokenPlaces: ["elsewhere"] };
const KEPT: Partial<SyncSettings> = {
  deletion: { when: "never", gracePeriodMs: 0, limit: { count: 0, percent: 0 } },
};

/** A world in sync, whose config now names another place for its tokens, with nothing in it. */
async function movedWorld(...ids: string[]): Promise<World> {
  const world = new World(tenants(...ids));
  await world.sync();
  world.service.requests.length = 0;
  world.store.tokens.clear();
  return world;
}

const expectAll = (world: World): void => expect(world.store.tokens).toEqual(world.service.tokens);

describe("where tokens go to another place than before", () => {
  test("a sync that has nothing else to do writes all of them there, says so once, and then leaves them alone", async () => {
    const world = await movedWorld("a", "b");
    const { report, events } = world.start({ settings: ELSEWHERE });
    expect(await report).toMatchObject({ outcome: "ok", requests: 2 });
    expectAll(world);
    const warning = {
      code: "TOKENS_MOVED",
      message: "tokens went to here; from now on they go to elsewhere",
    };
    expect(events.filter(({ kind }) => kind === "warning")).toMatchObject([warning]);
    world.store.tokens.delete("a");
    const next = world.start({ settings: ELSEWHERE });
    expect(await next.report).toMatchObject({ outcome: "ok", requests: 0 });
    expect(next.events.filter(({ kind }) => kind === "warning")).toEqual([]);
  });

  const [TABLE, RENAMED] = ["table db:3306/app tokens", "table db:3306/App Tokens"];
  test.each<[string, boolean | null, string[], string[], boolean]>([
    ["a table's name in other case is no move where the database folds it", true, [TABLE], [RENAMED], false],
    ["it is one where the database tells the two apart", false, [TABLE], [RENAMED], true],
    ["another table is one", true, [TABLE], ["table db:3306/app other"], true],
    ["another directory is one", null, ["file /tokens"], ["file /Tokens"], true],
    ["so it is beside a table", true, ["file /tokens", TABLE], ["file /Tokens", RENAMED], true],
  ])("%s", async (_, foldsCase, former, tokenPlaces, isMove) => {
    const world = new World(tenants("a"));
    world.store.foldsCase = foldsCase;
    await world.sync({ settings: { tokenPlaces: former } });
    const { report, events } = world.start({ settings: { tokenPlaces } });
    await report;
    const moves = events.filter((event) => event.kind === "warning" && event.code === "TOKENS_MOVED");
    expect(moves).toHaveLength(isMove ? 1 : 0);
  });

  test.each<[string, StartOptions]>([
    ["was told to stop", { signal: AbortSignal.abort() }],
    ["named a few", { only: new Set(["a"]) }],
  ])("a sync that %s leaves it to the next one", async (_, options) => {
    const world = await movedWorld("a", "b", "c");
    await world.start({ settings: ELSEWHERE, ...options }).report;
    expect(await world.sync({ settings: ELSEWHERE })).toMatchObject({ outcome: "ok" });
    expectAll(world);
  });

  test("the former place is not taken for whole any more once something was written to the new one alone", async () => {
    const world = await movedWorld("a", "b");
    const former = new Map(world.service.tokens);
    const rotation = world.startRotation({ kind: "only", ids: new Set(["a"]) }, { settings: ELSEWHERE });
    expect(await rotation.report).toMatchObject({ outcome: "ok" });
    world.store.tokens.clear();
    for (const [id, token] of former) world.store.tokens.set(id, token);
    expect(await world.sync()).toMatchObject({ outcome: "ok", requests: 1 });
    expectAll(world);
  });

  test("a token that the service doesn't tell is asked for again, with growing delays, until it is there", async () => {
    const world = await movedWorld("a", "b");
    const refuse = ({ when, call, id }: Point): void => {
      if (when === "before" && call === "getOrCreate" && id === "a")
        throw new ServiceFailure("REFUSED", "HTTP 422");
    };
    for (let sync = 1; sync <= 4; sync++)
      expect(await world.sync({ settings: ELSEWHERE, at: refuse })).toMatchObject({
        outcome: "partial",
        errors: [{ user_group_id: "a" }],
      });
    expect([...world.store.tokens.keys()]).toEqual(["b"]);
    await world.time.sleep(10 * MINUTE);
    expect(await world.sync({ settings: ELSEWHERE })).toMatchObject({ outcome: "ok" });
    expectAll(world);
  });

  test("so it is of a group that had failed for another reason, which is over by then", async () => {
    const world = await movedWorld("a");
    const refuse = ({ when, call }: Point): void => {
      if (when === "before" && call === "getOrCreate") throw new ServiceFailure("REFUSED", "HTTP 422");
    };
    world.tenants = [{ id: "a", name: "New", plan: "gold" }];
    await world.sync({ at: refuse });
    await world.sync({ settings: ELSEWHERE, at: refuse });
    world.tenants = tenants("a");
    await world.time.sleep(10 * MINUTE);
    await world.sync({ settings: ELSEWHERE });
    expect(await world.sync({ settings: ELSEWHERE })).toMatchObject({ outcome: "ok" });
    expectAll(world);
  });

  describe("a group that was found with another name, and is left alone", () => {
    const NEVER = { update: "never" } as const;
    const movedWithAnother = async (): Promise<World> => {
      const world = new World(tenants("a", "b"));
      world.service.put({ user_group_id: "a", name: "Somebody else's", mapping: {}, properties: {} });
      await world.sync({ settings: NEVER });
      expect(await world.sync({ settings: NEVER })).toMatchObject({ outcome: "ok", counts: { outdated: 1 } });
      world.service.requests.length = 0;
      return world;
    };

    test("needs no call where its token is there", async () => {
      const world = await movedWithAnother();
      expect(await world.sync({ settings: { ...NEVER, ...ELSEWHERE } })).toMatchObject({
        outcome: "ok",
        requests: 0,
      });
      expectAll(world);
    });

    test("is reported for as long as no store has its token: to ask for it could change it", async () => {
      const world = await movedWithAnother();
      world.store.tokens.clear();
      const settings = { ...NEVER, ...ELSEWHERE };
      for (let sync = 1; sync <= 4; sync++)
        expect(await world.sync({ settings })).toMatchObject({
          outcome: "partial",
          errors: [{ user_group_id: "a", code: "TOKEN_NOT_EVERYWHERE" }],
        });
      expect(world.service.requests.map(({ id }) => id)).toEqual(["b"]);
      await world.sync({ settings: ELSEWHERE });
      expectAll(world);
    });
  });

  test.each([
    ["as it was", tenants("a", "b")],
    ["as a row that can't be used", [{ id: "a", name: null }, ...tenants("b")]],
  ])("a tenant that was gone meanwhile finds its token there when it comes back %s", async (_, back) => {
    const world = await movedWorld("a", "b");
    world.tenants = tenants("b");
    await world.sync({ settings: { ...ELSEWHERE, ...KEPT } });
    expect([...world.store.tokens.keys()]).toEqual(["b"]);
    world.tenants = back;
    const { counts } = await world.sync({ settings: { ...ELSEWHERE, ...KEPT } });
    expect(counts).toMatchObject({ restored: 1, failed: 0 });
    expectAll(world);
  });

  test("so it does where the run that finds it again dies at any moment", async () => {
    for (let diesAt = 0; ; diesAt++) {
      const world = await movedWorld("a", "b");
      const settings = { ...ELSEWHERE, ...KEPT };
      world.tenants = tenants("b");
      await world.sync({ settings });
      world.tenants = tenants("a", "b");
      if ((await world.start({ settings, only: new Set(["a"]), diesAt }).report) !== "died") break;
      await world.time.sleep(MINUTE);
      expect(await world.sync({ settings })).toMatchObject({ outcome: "ok" });
      expectAll(world);
    }
  });

  test("a death at any moment is made good by the next sync", async () => {
    for (let diesAt = 0; ; diesAt++) {
      const world = await movedWorld("a", "b", "c");
      const report = await world.start({ settings: ELSEWHERE, diesAt }).report;
      if (report !== "died") break;
      await world.time.sleep(MINUTE);
      expect(await world.sync({ settings: ELSEWHERE })).toMatchObject({ outcome: "ok" });
      expectAll(world);
    }
  });
});

test("a sync of some tenants sees to their tokens, and to no others", async () => {
  const world = await movedWorld("a", "b");
  expect(await world.sync({ only: new Set(["a"]) })).toMatchObject({ outcome: "ok", requests: 1 });
  expect([...world.store.tokens.keys()]).toEqual(["a"]);
});
