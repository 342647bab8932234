import { describe, expect, it, test } from "vitest";
import { ServiceFailure } from "../../../src/core/failure/service-failure.ts";
import type { FoundTokenTable, TokenTable } from "../../../src/core/tokens/destination.ts";
import type { RunReport } from "../../../src/engine/report/run-report.ts";
import type { RotationSelection } from "../../../src/engine/rotate.ts";
import type { SyncSettings } from "../../../src/engine/sync.ts";
import { insistOnTables } from "../../../src/engine/tokens/token-tables.ts";
import type { RunEvent } from "../../../src/ports/observer.ts";
import type { TokenDestination } from "../../../src/ports/token-store.ts";
import { aScopeState } from "../../builders/groups.ts";
import { failing } from "../../fakes/instance.ts";
import { expectBoth, synced, TwoStores } from "../../fakes/two-stores.ts";
import { aSyncedWorld, type StartOptions, tenants, World } from "../../fakes/world.ts";

const MINUTE = 60_000;
const ELSEWHERE: Partial<SyncSettings> = { tokenDestinations: ["elsewhere"] };
const KEPT: Partial<SyncSettings> = {
  deletion: { when: "never", gracePeriodMs: 0, limit: { count: 0, percent: 0 } },
};

/** A world in sync whose config now names another, empty token destination. */
async function movedWorld(...ids: string[]): Promise<World> {
  const world = await aSyncedWorld(ids);
  world.store.tokens.clear();
  return world;
}

const expectAll = (world: World): void => expect(world.store.tokens).toEqual(world.service.tokens);

describe("if the config names another token destination than before", () => {
  test.each<[string, StartOptions]>([
    ["was told to stop", { signal: AbortSignal.abort() }],
    ["named a few", { only: new Set(["a"]) }],
  ])("a sync that %s leaves the move to the next one", async (_, options) => {
    const world = await movedWorld("a", "b", "c");
    await world.start({ settings: ELSEWHERE, ...options }).report;
    expect(await world.sync({ settings: ELSEWHERE })).toMatchObject({ outcome: "ok" });
    expectAll(world);
  });

  test("the former destination counts as incomplete once a token was written to the new one alone", async () => {
    const world = await movedWorld("a", "b");
    const former = new Map(world.service.tokens);
    const rotation = world.startRotation({ kind: "only", ids: new Set(["a"]) }, { settings: ELSEWHERE });
    expect(await rotation.report).toMatchObject({ outcome: "ok" });
    world.store.tokens.clear();
    for (const [id, token] of former) world.store.tokens.set(id, token);
    expect(await world.sync()).toMatchObject({ outcome: "ok", requests: 1 });
    expectAll(world);
  });

  describe("a group that has another name at the service and is left alone", () => {
    const NEVER = { update: "never" } as const;
    const movedWithAnother = async (): Promise<World> => {
      const world = new World(tenants("a", "b"));
      world.service.put({ user_group_id: "a", name: "Somebody else's", mapping: {}, properties: {} });
      await world.sync({ settings: NEVER });
      expect(await world.sync({ settings: NEVER })).toMatchObject({ outcome: "ok", counts: { outdated: 1 } });
      world.service.requests.length = 0;
      return world;
    };

    test("needs no call if its token is stored there", async () => {
      const world = await movedWithAnother();
      expect(await world.sync({ settings: { ...NEVER, ...ELSEWHERE } })).toMatchObject({
        outcome: "ok",
        requests: 0,
      });
      expectAll(world);
    });

    test("is reported as long as no store has its token, because a GET could change the group", async () => {
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
    ["unchanged", tenants("a", "b")],
    ["with a rejected row", [{ id: "a", name: null }, ...tenants("b")]],
  ])("a tenant that was gone during the move gets its token there when it comes back %s", async (_, back) => {
    const world = await movedWorld("a", "b");
    world.tenants = tenants("b");
    await world.sync({ settings: { ...ELSEWHERE, ...KEPT } });
    expect([...world.store.tokens.keys()]).toEqual(["b"]);
    world.tenants = back;
    const { counts } = await world.sync({ settings: { ...ELSEWHERE, ...KEPT } });
    expect(counts).toMatchObject({ restored: 1, failed: 0 });
    expectAll(world);
  });
});

describe("if a token destination has lost all its tokens", () => {
  const lostIn = (events: readonly RunEvent[]) =>
    events.filter((event) => event.kind === "warning" && event.code === "TOKENS_LOST");

  test("a sync warns and writes them again, even if it or a rotation dies at any moment before", async () => {
    for (let diesAt = 0; ; diesAt++) {
      const world = await movedWorld("a", "b");
      const first = world.start({ diesAt });
      const end = await first.report;
      if (end !== "died") {
        expect(lostIn(first.events)).toMatchObject([
          { message: expect.stringContaining("the store has lost all tokens") },
        ]);
        expect(end).toMatchObject({ outcome: "ok", counts: { restored: 2, unchanged: 2 } });
        break;
      }
      await world.time.sleep(MINUTE);
      await world.startRotation({ kind: "only", ids: new Set(["b"]) }).report;
      await world.time.sleep(MINUTE);
      expect(await world.sync()).toMatchObject({ outcome: "ok" });
      expectAll(world);
    }
  });

  test("one of two is filled from the other, without a request", async () => {
    const world = await synced("a", "b");
    world.second.tokens.clear();
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { restored: 2 }, requests: 0 });
    expectBoth(world);
  });

  test("nothing is said of a store that has refused all tokens, and they are tried with growing delays", async () => {
    const world = new TwoStores(tenants("a"));
    world.second.refused.add("a");
    for (let sync = 1; sync <= 5; sync++) await world.sync();
    const { events, report } = world.start();
    expect(await report).toMatchObject({
      errors: [{ message: expect.stringContaining("next try after") }],
    });
    expect(lostIn(events)).toEqual([]);
  });

  test("nothing is said if no group has a token, or if the ledger is new", async () => {
    const world = new World([]);
    for (const _ of [1, 2]) {
      const { events, report } = world.start();
      await report;
      expect(lostIn(events)).toEqual([]);
    }
  });
});

const KNOWN: TokenTable = { written: "tokens", schema: "public", table: "tokens", owner: "app" };

/** The ledger knows the table KNOWN, and the config leads to `now`; null if it leads to no table. */
const portsWith = (now: FoundTokenTable | null) => ({
  ledger: {
    scope: async () => aScopeState({ tokens: { complete: null, verifiedAt: null, tables: [KNOWN] } }),
  },
  tokens: { destinations: [{ table: async () => now } as Partial<TokenDestination> as TokenDestination] },
});

test.each<[string, Partial<FoundTokenTable>]>([
  ["the same table", {}],
  ["a table that the config names otherwise", { written: "other", table: "other" }],
  ["a table of an owner that the config names", { owner: "boss", isOwnerNamed: true }],
])("a config that leads to %s is accepted", async (_, now) => {
  await insistOnTables(portsWith({ ...KNOWN, isOwnerNamed: false, ...now }));
});

test.each<[string, Partial<FoundTokenTable>, string]>([
  ["in another schema", { schema: "evil" }, "like evil.tokens"],
  ["of another owner", { owner: "boss" }, "write tokens.owner: boss"],
])("a name that now leads to a table %s is refused with a remedy", async (_, now, remedy) => {
  const ports = portsWith({ ...KNOWN, isOwnerNamed: false, ...now });
  await expect(insistOnTables(ports)).rejects.toMatchObject({
    code: "CONFIG_TABLE_MOVED",
    hint: expect.stringContaining(remedy),
  });
});

const ALL: RotationSelection = { kind: "all" };

async function rotate(world: World, selection = ALL, options: StartOptions = {}): Promise<RunReport> {
  const report = await world.startRotation(selection, options).report;
  if (report === "died") throw new Error("it died");
  return report;
}

it("a rotation with an empty ledger and stored tokens is refused", async () => {
  const world = await aSyncedWorld(["a", "b"]);
  world.ledger.clear();
  const { report } = world.startRotation({ kind: "all" });
  expect(await report).toMatchObject({ outcome: "failed", error: { code: "LEDGER_EMPTY" } });
});

it("a ledger with intents only is not taken for empty", async () => {
  const world = new World(tenants("a"));
  const first = world.start({
    at: ({ when, call }) => {
      if (when === "after" && call === "writeTokens") first.instance.kill();
    },
  });
  expect(await first.report).toBe("died");
  expect(world.store.tokens.size).toBe(1);
  const refused = failing(
    "before",
    "getOrCreate",
    () => new ServiceFailure("REFUSED", "GET was answered HTTP 422"),
  );
  const sync = world.start({ at: refused });
  await sync.report;
  expect(sync.events).not.toContainEqual(expect.objectContaining({ code: "LEDGER_EMPTY" }));
  expect(await rotate(world, ALL, { at: refused })).toMatchObject({
    outcome: "partial",
    errors: [{ user_group_id: "a" }],
  });
});
