import { describe, expect, test } from "vitest";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { ledgerFindings, planFindings, tokenFindings } from "../../../src/engine/check/state.ts";
import { Instance } from "../../fakes/instance.ts";
import { VirtualClock } from "../../fakes/virtual-time.ts";
import { BASE_URL, syncSettings, tenants, World } from "../../fakes/world.ts";
import { allOf, signsOf } from "./findings.ts";

const aLedger = (world: World) => world.ports(new Instance(), new VirtualClock(world.time)).ledger;

const findLedger = (world: World, baseUrl = BASE_URL, overrides = {}) =>
  allOf(
    ledgerFindings(
      { ...aLedger(world), ...overrides },
      { database: { title: "db:5432/app", privacy: "verified" }, baseUrl, update: "upsert" },
    ),
  );

test("a ledger that is not there yet, and one that is, are well", async () => {
  const world = new World(tenants("a"));
  expect(signsOf(await findLedger(world))).toEqual(["✓", "✓", "✓"]);
  await world.sync();
  const found = await findLedger(world);
  expect(signsOf(found)).toEqual(["✓", "✓", "✓"]);
  expect(found.map(({ message }) => message)).toEqual([
    expect.stringContaining("db:5432/app"),
    expect.stringContaining("this user may write there"),
    "nobody holds the lease",
  ]);
});

test("another service.base_url than that of the ledger's groups is what a sync says", async () => {
  const world = new World(tenants("a"));
  await world.sync();
  const found = await findLedger(world, "https://staging.example.com");
  expect(signsOf(found)).toEqual(["✓", "✓", "✗ SERVICE_CHANGED", "✓"]);
  expect(found[2]?.hint).toContain("put the old address back");
});

test("a service that keeps existing groups as they are is a warning if groups are to be updated", async () => {
  const world = new World(tenants("a"));
  await world.sync();
  const service = async () => ({ baseUrl: BASE_URL, teamId: null, updates: false, isProbed: true });
  const found = await findLedger(world, BASE_URL, { service });
  expect(signsOf(found)).toEqual(["✓", "✓", "!", "✓"]);
  expect(found[2]?.hint).toContain("set service.update to replace");
});

test("tables of an older groupsync are a warning, because a sync migrates them", async () => {
  const outdated = async (): Promise<never> => {
    throw new SyncError("LEDGER_OUTDATED", "the ledger has version 6", { hint: "a sync migrates it" });
  };
  const found = await findLedger(new World(), BASE_URL, {
    id: outdated,
    service: outdated,
    status: outdated,
  });
  expect(signsOf(found)).toEqual(["✓", "! LEDGER_OUTDATED"]);
});

test("the holder of the lease is named", async () => {
  const world = new World();
  const ledger = aLedger(world);
  await ledger.prepare();
  await ledger.acquireLease("host-a pid 7", 60_000);
  const found = await findLedger(world);
  expect(signsOf(found)).toEqual(["✓", "✓", "✓"]);
  expect(found[2]?.message).toMatch(/^host-a pid 7 holds the lease until /);
});

interface Faults {
  /** The call at which the fault shows. */
  readonly call?: string;
  readonly error?: SyncError;
}

const findTokens = (world: World, { call, error }: Faults = {}) => {
  const fate = {
    at: (point: { readonly call: string }) => {
      if (error && point.call === call) throw error;
    },
  };
  const { ledger, tokens } = world.ports(new Instance(fate), new VirtualClock(world.time));
  return allOf(tokenFindings({ ledger, tokens }, { name: "default", baseUrl: BASE_URL, canary: false }));
};

test("a store of one's own is well, empty or not", async () => {
  const world = new World(tenants("a"));
  expect(signsOf(await findTokens(world))).toEqual(["✓"]);
  await world.sync();
  expect(signsOf(await findTokens(world))).toEqual(["✓"]);
});

test("tokens of another config are what a sync says", async () => {
  const world = new World(tenants("a"));
  await world.sync();
  world.store.owner = { name: "production", baseUrl: BASE_URL, teamId: 7, ledgerId: "another" };
  const found = await findTokens(world);
  // Nothing else: no write was tried there.
  expect(signsOf(found)).toEqual(["✗ CONFIG_TOKENS_OWNED"]);
  expect(found[0]?.hint).toContain("wipe the mark off");
});

test("while the ledger's groups live at another service, nothing is written", async () => {
  const world = new World(tenants("a"));
  await world.sync();
  const { ledger, tokens } = world.ports(new Instance(), new VirtualClock(world.time));
  const ports = {
    ledger,
    tokens: Object.assign(tokens, { rehearse: () => Promise.reject(new Error("written")) }),
  };
  const settings = { name: "default", baseUrl: "https://staging.example.com", canary: true };
  expect(signsOf(await allOf(tokenFindings(ports, settings)))).toEqual(["!"]);
});

test("a store that refuses writes is a failure", async () => {
  const error = new SyncError("TOKEN_STORE_UNAVAILABLE", "user app may not write tokens to t");
  const refused = findTokens(new World(), { call: "inspectTokens", error });
  await expect(refused).rejects.toMatchObject({ code: "TOKEN_STORE_UNAVAILABLE" });
});

test("if the ledger can't be read, the store is looked at, and nothing is written", async () => {
  const world = new World();
  const { ledger, tokens } = world.ports(new Instance(), new VirtualClock(world.time));
  const away = async (): Promise<never> => {
    throw new SyncError("LEDGER_UNAVAILABLE", "no such host");
  };
  let inspected = 0;
  const ports = {
    ledger: { ...ledger, service: away, id: away },
    tokens: {
      destinations: tokens.destinations,
      inspect: async () => void inspected++,
      rehearse: away,
    },
  };
  const settings = { name: "default", baseUrl: BASE_URL, canary: true };
  expect(signsOf(await allOf(tokenFindings(ports, settings)))).toEqual(["!"]);
  expect(inspected).toBe(1);
});

describe("the plan", () => {
  const findPlan = (world: World, settings = {}, overrides = {}, clock = new VirtualClock(world.time)) => {
    const { source, ledger, tokens, openSpool } = world.ports(new Instance(), clock);
    const all = { ...syncSettings(), ...settings };
    const ports = { source, ledger: { ...ledger, ...overrides }, openSpool };
    const setup = { ...all, ports, settings: all, tokens, clock };
    return allOf(planFindings(setup, new AbortController().signal));
  };

  test("is well, with its numbers, before the first sync and after it", async () => {
    const world = new World(tenants("a", "b"));
    expect(await findPlan(world)).toEqual([
      { level: "ok", message: "a sync has 2 to create, 0 to update, 0 to delete, 0 unchanged" },
    ]);
    await world.sync();
    expect(await findPlan(world)).toEqual([
      { level: "ok", message: "a sync has nothing to do, 2 unchanged" },
    ]);
  });

  test("of another source is as loud as plan is: all groups are held", async () => {
    const world = new World(tenants("a", "b", "c", "d"));
    await world.sync();
    world.tenants = tenants("1", "2", "3", "4");
    const found = await findPlan(world, { source: "customers by number" });
    expect(signsOf(found)).toEqual(["! DELETIONS_HELD"]);
    expect(found[0]?.message).toContain(
      "4 to create, 0 to update, 0 to delete, 0 unchanged, 4 held; 4 deletions are held",
    );
    expect(found[0]?.hint).toContain("put the old one back");
  });

  test("is loud before the grace period is over, too", async () => {
    const world = new World(tenants("a", "b", "c", "d"));
    await world.sync();
    world.tenants = tenants("a", "1", "2", "3");
    const deletion = { when: "absent", gracePeriodMs: 86_400_000, limit: { count: 1, percent: 0 } };
    const [found] = await findPlan(world, { deletion });
    expect(found).toMatchObject({
      level: "warning",
      message:
        "a sync has 3 to create, 0 to update, 0 to delete, 1 unchanged, 3 missing; deletion.limit lets 1 of 4 groups go in 24 hours",
      hint: expect.stringContaining("really gone"),
    });
  });

  test("has the warnings of a sync: a clock that differs, and tokens that the ledger doesn't know", async () => {
    const world = new World(tenants("a"));
    const clock = new VirtualClock(world.time);
    clock.jump(-3_600_000);
    world.store.tokens.set("a", "token-a");
    const found = await findPlan(world, {}, {}, clock);
    expect(signsOf(found).slice(1)).toEqual(["! CLOCK_DIFFERS", "! LEDGER_EMPTY"]);
    expect(found[1]?.message).toContain("is 1 h 0 min behind the clock of the ledger's database");
  });

  test("of an older ledger waits for the sync that migrates it", async () => {
    const service = async (): Promise<never> => {
      throw new SyncError("LEDGER_OUTDATED", "the ledger has version 6", { hint: "a sync migrates it" });
    };
    expect(signsOf(await findPlan(new World(tenants("a")), {}, { service }))).toEqual(["! LEDGER_OUTDATED"]);
  });
});
