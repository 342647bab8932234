import { describe, expect, test } from "vitest";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import type { OwnersMark } from "../../../src/core/tokens/destination.ts";
import type { SyncSettings } from "../../../src/engine/sync.ts";
import { failing, type Point } from "../../fakes/instance.ts";
import { synced } from "../../fakes/two-stores.ts";
import { aSyncedWorld, BASE_URL, type StartOptions, tenants, World } from "../../fakes/world.ts";

const TEAM = 7;
const MINUTE = 60_000;
const STAGING: Partial<SyncSettings> = { name: "staging" };

const ourMark = ({ ledger }: World, overrides: Partial<OwnersMark> = {}): OwnersMark => ({
  name: "default",
  baseUrl: BASE_URL,
  teamId: TEAM,
  ledgerId: ledger.id,
  ...overrides,
});

/** A world in which production's tokens are stored and marked. */
async function production(): Promise<World> {
  const world = await aSyncedWorld(["a", "b"]);
  return world;
}

/** Empties the ledger, like a ledger that was lost or another scope's ledger. */
const loseLedger = (world: World): void => world.ledger.clear();

const codesOf = async (world: World, options: StartOptions): Promise<readonly string[]> => {
  const { events, report } = world.start(options);
  await report;
  return events.flatMap((event) => (event.kind === "warning" ? [event.code] : []));
};

async function expectRefused(world: World, options: StartOptions = {}): Promise<string> {
  const tokens = new Map(world.store.tokens);
  const { owner } = world.store;
  const report = await world.sync(options);
  expect(report).toMatchObject({ outcome: "failed", requests: 0, error: { code: "CONFIG_TOKENS_OWNED" } });
  expect(world.store.tokens).toEqual(tokens);
  expect(world.store.owner).toEqual(owner);
  return `${report.error?.message}; ${report.error?.hint}`;
}

describe("a token destination", () => {
  test("is marked before anything is sent, and marked with the team once the team is known", async () => {
    const world = new World(tenants("a"));
    const marks: (OwnersMark | null)[] = [];
    const at = ({ when, call }: Point): void => {
      if (when === "before" && (call === "getOrCreate" || call === "writeTokens"))
        marks.push(world.store.owner);
    };
    expect(await world.sync({ at })).toMatchObject({ outcome: "ok" });
    expect(marks).toEqual([ourMark(world, { teamId: null }), ourMark(world)]);
  });

  test.each<[string, Partial<OwnersMark>]>([
    ["of another service", { baseUrl: "https://elsewhere" }],
    ["of another config in the same ledger", { name: "staging" }],
    ["that an older groupsync marked with another name", { name: "staging", baseUrl: null, ledgerId: null }],
  ])("%s is refused even by a ledger that knows groups", async (_, mark) => {
    const world = await production();
    world.store.owner = ourMark(world, mark);
    await expectRefused(world);
  });

  test("of another ledger is refused by a ledger that knows groups, and the message says so", async () => {
    const world = await production();
    world.store.owner = ourMark(world, { ledgerId: "another" });
    expect(await expectRefused(world)).toContain("with another ledger");
  });

  test("is refused to a rotation as well", async () => {
    const world = await production();
    world.store.owner = ourMark(world, { name: "staging" });
    const { report } = world.startRotation({ kind: "only", ids: new Set(["a"]) });
    expect(await report).toMatchObject({ requests: 0, error: { code: "CONFIG_TOKENS_OWNED" } });
  });

  test("that was given up by removing the mark is claimed", async () => {
    const world = await production();
    loseLedger(world);
    world.store.owner = null;
    expect(await world.sync({ settings: STAGING })).toMatchObject({ outcome: "ok" });
    expect(world.store.owner).toEqual(ourMark(world, { name: "staging" }));
  });

  test("of an older groupsync is marked by the ledger that knows its groups", async () => {
    const world = await production();
    world.store.owner = null;
    expect(await world.sync()).toMatchObject({ outcome: "ok", requests: 0 });
    expect(world.store.owner).toEqual(ourMark(world));
  });

  test("still belongs to the config after service.base_url was wrong at first", async () => {
    const world = new World(tenants("a"));
    const refuse = failing("before", "getOrCreate", () => new Error("no such host"));
    await world.start({ settings: { baseUrl: "https://wrong" }, at: refuse }).report.catch(() => {});
    await world.time.sleep(MINUTE);
    expect(world.store.owner).toEqual(ourMark(world, { baseUrl: "https://wrong", teamId: null }));
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expect(world.store.owner).toEqual(ourMark(world));
  });

  test("goes to one of two configs that start at the same time; the other is refused", async () => {
    const world = new World(tenants("a"));
    const other = new World(tenants("b"));
    const together = Object.assign(Object.create(other), { store: world.store, time: world.time }) as World;
    const [one, two] = await Promise.all([world.sync(), together.sync({ settings: STAGING })]);
    const outcomes = [one, two].map(({ error }) => error?.code);
    expect(outcomes.toSorted()).toEqual(["CONFIG_TOKENS_OWNED", undefined]);
    expect([...world.store.tokens.keys()]).toEqual(outcomes[0] === undefined ? ["a"] : ["b"]);
  });
});

describe("after the ledger was lost", () => {
  test("its tokens are adopted, and the mark is the new ledger's before a token is stored", async () => {
    const world = await production();
    const former = world.store.owner;
    loseLedger(world);
    const marks: Record<string, OwnersMark | null> = {};
    const at = ({ when, call }: Point): void => {
      if (when === "before") marks[call] ??= world.store.owner;
    };
    expect(await world.sync({ at })).toMatchObject({ outcome: "ok", counts: { adopted: 2 } });
    const ours = ourMark(world);
    expect(marks).toMatchObject({ getOrCreate: former, writeTokens: ours });
    expect(world.store.owner).toEqual(ours);
    expect(former?.ledgerId).not.toBe(ours.ledgerId);
  });

  test("an answer of another team stores nothing and leaves the mark unchanged", async () => {
    const world = await production();
    const former = world.store.owner;
    const tokens = new Map(world.store.tokens);
    loseLedger(world);
    world.service.teamId = 2;
    const report = await world.sync();
    expect(report).toMatchObject({ outcome: "failed", error: { code: "CONFIG_TOKENS_OWNED" } });
    expect(report.error?.message).toMatch(/team 7\).*team 2\)/);
    expect(report.error?.hint).toMatch(/^check service\.api_key first: .* team 7/);
    expect(world.store.owner).toEqual(former);
    expect(world.store.tokens).toEqual(tokens);
    expect(world.ledger.service.baseUrl).toBeNull();
  });

  test("a run that dies at any moment leaves the tokens with their owner", async () => {
    for (let diesAt = 0; ; diesAt++) {
      const world = await production();
      loseLedger(world);
      const report = await world.start({ diesAt }).report;
      await world.time.sleep(MINUTE);
      expect(await world.sync()).toMatchObject({ outcome: "ok" });
      expect(world.store.owner).toEqual(ourMark(world));
      expect(world.store.tokens).toEqual(world.service.tokens);
      if (report !== "died") break;
    }
  });
});

test("a group whose token can't be stored now is left to the next sync, and not removed as another team's", async () => {
  const world = new World(tenants("a"));
  const refuse = ({ call }: Point): void => {
    if (call === "claimTokens" && world.service.requests.length > 0)
      throw new SyncError("TOKEN_STORE_UNAVAILABLE", "away");
  };
  expect(await world.sync({ at: refuse })).toMatchObject({ error: { code: "TOKEN_STORE_UNAVAILABLE" } });
  expect(world.service.requests.map(({ operation }) => operation)).toEqual(["GET"]);
  expect(await world.sync()).toMatchObject({ outcome: "ok" });
  expect(world.store.tokens).toEqual(world.service.tokens);
});

test("a first sync that dies at any moment doesn't lock its config out", async () => {
  for (let diesAt = 0; ; diesAt++) {
    const world = new World(tenants("a", "b"));
    const report = await world.start({ diesAt }).report;
    await world.time.sleep(MINUTE);
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expect(world.store.owner).toEqual(ourMark(world));
    if (report !== "died") break;
  }
});

describe("a store whose marks this user is not allowed to read or write", () => {
  const unmarkable = async (): Promise<World> => {
    const world = await production();
    world.store.isUnmarkable = true;
    return world;
  };

  test("is still written by the ledger that knows its groups, with a warning in each run", async () => {
    const world = await unmarkable();
    for (let run = 1; run <= 2; run++) expect(await codesOf(world, {})).toEqual(["TOKENS_UNMARKED"]);
    world.tenants = tenants("a", "b", "c");
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { created: 1 } });
  });

  test("is refused to a ledger that knows none of its tokens", async () => {
    const world = await unmarkable();
    loseLedger(world);
    const said = await expectRefused(world);
    expect(said).toContain("the store takes no marks from you");
    expect(said).toContain("ask its keeper");
  });

  test("is claimed if it is empty", async () => {
    const world = new World(tenants("a"));
    world.store.isUnmarkable = true;
    expect(await codesOf(world, {})).toEqual(["TOKENS_UNMARKED"]);
    expect(world.store.tokens).toEqual(world.service.tokens);
  });
});

test("if one of several stores belongs to another config, nothing is written to any store", async () => {
  const world = await synced("a");
  world.second.owner = ourMark(world, { name: "staging" });
  world.tenants = tenants("a", "b");
  await expectRefused(world);
  expect([...world.second.tokens.keys()]).toEqual(["a"]);
});
