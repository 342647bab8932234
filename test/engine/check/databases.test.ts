import { describe, expect, test } from "vitest";
import { NO_EVIDENCE } from "../../../src/core/apply/update-evidence.ts";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { connectionPrivacy } from "../../../src/core/tls/database-tls.ts";
import {
  channelFindings,
  columnFindings,
  connectionFinding,
  connectionFindings,
  ledgerFindings,
  type SyncConnection,
  sourceFindings,
  tokenFindings,
} from "../../../src/engine/check/databases.ts";
import { planFindings } from "../../../src/engine/check/plan.ts";
import type { SourceRole, TenantSource } from "../../../src/ports/tenant-source.ts";
import { column, someRules } from "../../builders/rules.ts";
import { FakeChannel, FakeFeed } from "../../fakes/change-feed.ts";
import { Instance } from "../../fakes/instance.ts";
import { VirtualClock, VirtualTime } from "../../fakes/virtual-time.ts";
import { aSyncedWorld, BASE_URL, syncSettings, tenants, World } from "../../fakes/world.ts";
import { allOf, signsOf } from "./findings.ts";

const never = new AbortController().signal;

test.each([
  ["postgres", "postgres://app@db.example.com/app?sslmode=require", "✓"],
  ["postgres", "postgres://app@127.0.0.1/app", "✓"],
  ["mysql", "mysql://app@db.example.com/app?ssl-mode=VERIFY_IDENTITY", "✓"],
  ["postgres", "postgres://app@db.example.com/app?sslmode=no-verify", "!"],
  ["mysql", "mysql://app@db.example.com/app?ssl-mode=NO_VERIFY", "!"],
  ["postgres", "postgres://app@db.example.com/app?sslmode=disable", "!"],
  ["mysql", "mysql://app@db.example.com/app?ssl-mode=DISABLED", "!"],
] as const)("a connection of %s to %s: %s", (dialect, url, sign) => {
  const finding = connectionFinding({ title: "app", privacy: connectionPrivacy(dialect, url) });
  expect(signsOf([finding])).toEqual([sign]);
  if (sign === "!") expect(finding.hint).toContain("sslmode=verify-full");
});

/** What is found of three connections to a database that gives `most` at once. */
async function foundOfPool(most: number) {
  let openNow = 0;
  const connection = (name: string): SyncConnection => ({
    for: name,
    open: async () => {
      if (openNow === most) throw new SyncError("LEDGER_UNAVAILABLE", "no answer");
      openNow++;
      return async () => openNow--;
    },
  });
  const connections = ["to read", "to write", "to renew"].map(connection);
  const found = await allOf(connectionFindings(connections, never));
  expect(openNow).toBe(0);
  return found;
}

test("fewer connections at once than are used are a failure that says what is missing, and what helps", async () => {
  expect(signsOf(await foundOfPool(3))).toEqual(["✓"]);
  expect(await foundOfPool(1)).toEqual([
    {
      level: "failure",
      code: "LEDGER_UNAVAILABLE",
      message: "groupsync uses 3 connections at once and gets 1; to write: no answer",
      hint: expect.stringContaining("3 connections at once: default_pool_size"),
    },
  ]);
  // Its own check tells why.
  expect(await foundOfPool(0)).toEqual([]);
});

describe("the source", () => {
  const find = (role: Partial<SourceRole> = {}, isIndexed = true) => {
    const world = new World(tenants("a"));
    const { source } = world.ports(new Instance(), new VirtualClock(world.time));
    const faulty: Pick<TenantSource, "open"> = {
      open: async (...asked) => {
        const snapshot = await source.open(...asked);
        const isWell = { name: "reader", secrets: [], openSchemas: [] };
        return { ...snapshot, role: async () => ({ ...isWell, ...role }), isIndexed: async () => isIndexed };
      },
    };
    const database = { title: "db:5432/app", privacy: "verified" } as const;
    return allOf(sourceFindings(faulty, { rules: someRules(), database }, never));
  };

  test("in order is well", async () => {
    const found = await find();
    expect(signsOf(found)).toEqual(["✓", "✓"]);
    expect(found[1]?.message).toBe("an index finds a tenant by column id of memory.customers");
  });

  test("whose role can read the tokens, or whose id has no index, is a warning", async () => {
    const found = await find({ secrets: ["public.groupsync_tokens"] }, false);
    expect(signsOf(found)).toEqual(["✓", "! SOURCE_ROLE_READS_TOKENS", "! LOOKUPS_NOT_INDEXED"]);
    expect(found[2]?.hint).toContain("create an index");
  });
});

describe("the change column", () => {
  const aFeed = () => new FakeFeed(new VirtualClock(new VirtualTime()));

  test("is well with values and an index, and is closed afterwards", async () => {
    const feed = aFeed();
    feed.insert("a");
    expect(signsOf(await allOf(columnFindings(feed, never)))).toEqual(["✓", "✓"]);
    expect(feed).toMatchObject({ opened: 1, openNow: 0 });
  });

  test("without an index is shown with its newest value, and a warning has the statement that makes the index", async () => {
    const feed = aFeed();
    feed.insert("a");
    feed.missing = "CREATE INDEX ON customers (updated_at)";
    const found = await allOf(columnFindings(feed, never));
    expect(found).toMatchObject([
      { level: "ok", message: expect.stringMatching(/is of type .+, and its newest value is \d/) },
      { level: "warning", code: "CHANGES_NOT_INDEXED", hint: feed.missing },
    ]);
  });

  test("without a value is a warning", async () => {
    const found = await allOf(columnFindings(aFeed(), never));
    expect(found).toMatchObject([
      { level: "warning", hint: expect.stringContaining("every insert and update") },
    ]);
  });
});

describe("the change channel", () => {
  test("is well if notifications arrive, and is closed afterwards", async () => {
    const channel = new FakeChannel();
    expect(signsOf(await allOf(channelFindings(channel, never)))).toEqual(["✓"]);
    expect(channel).toMatchObject({ probes: 1, openNow: 0 });
  });
});

const aLedger = (world: World) => world.ports(new Instance(), new VirtualClock(world.time)).ledger;

const findLedger = (world: World, baseUrl = BASE_URL) =>
  allOf(
    ledgerFindings(aLedger(world), {
      database: { title: "db:5432/app", privacy: "verified" },
      baseUrl,
      update: "upsert",
    }),
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
  const world = await aSyncedWorld(["a"]);
  await expect(findLedger(world, "https://staging.example.com")).rejects.toMatchObject({
    code: "SERVICE_CHANGED",
    hint: expect.stringContaining("put the old address back"),
  });
});

test("a service that keeps existing groups as they are is a warning if groups are to be updated", async () => {
  const world = await aSyncedWorld(["a"]);
  world.ledger.service = { ...world.ledger.service, evidence: { ...NO_EVIDENCE, probe: false } };
  const found = await findLedger(world);
  expect(signsOf(found)).toEqual(["✓", "✓", "✓", "!"]);
  expect(found[3]?.hint).toContain("set service.update to replace or never");
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
  return allOf(tokenFindings({ ledger, tokens }, { name: "default", baseUrl: BASE_URL }));
};

test("a store of one's own is well, empty or not", async () => {
  const world = new World(tenants("a"));
  expect(signsOf(await findTokens(world))).toEqual(["✓"]);
  await world.sync();
  expect(signsOf(await findTokens(world))).toEqual(["✓"]);
});

test("tokens of another config are what a sync says", async () => {
  const world = await aSyncedWorld(["a"]);
  world.store.owner = { name: "production", baseUrl: BASE_URL, teamId: 7, ledgerId: "another" };
  const found = await findTokens(world);
  expect(signsOf(found)).toEqual(["✗ CONFIG_TOKENS_OWNED"]);
  expect(found[0]?.hint).toContain("wipe the mark off");
});

test("while the ledger's groups live at another service, nobody can tell whose tokens these are", async () => {
  const world = await aSyncedWorld(["a"]);
  const { ledger, tokens } = world.ports(new Instance(), new VirtualClock(world.time));
  const settings = { name: "default", baseUrl: "https://staging.example.com" };
  expect(signsOf(await allOf(tokenFindings({ ledger, tokens }, settings)))).toEqual(["!"]);
});

test("a store that refuses writes is a failure", async () => {
  const error = new SyncError("TOKEN_STORE_UNAVAILABLE", "user app may not write tokens to t");
  const refused = findTokens(new World(), { call: "inspectTokens", error });
  await expect(refused).rejects.toMatchObject({ code: "TOKEN_STORE_UNAVAILABLE" });
});

test("if the ledger can't be read, the store is looked at all the same", async () => {
  const world = new World();
  const { ledger, tokens } = world.ports(new Instance(), new VirtualClock(world.time));
  const away = async (): Promise<never> => {
    throw new SyncError("LEDGER_UNAVAILABLE", "no such host");
  };
  let inspected = 0;
  const ports = {
    ledger: { ...ledger, scope: away },
    tokens: {
      destinations: tokens.destinations,
      inspect: async () => void inspected++,
    },
  };
  const settings = { name: "default", baseUrl: BASE_URL };
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
    const world = await aSyncedWorld(["a", "b", "c", "d"]);
    world.tenants = tenants("1", "2", "3", "4");
    const found = await findPlan(world, { source: "customers by number" });
    expect(signsOf(found)).toEqual(["! DELETIONS_HELD"]);
    expect(found[0]?.message).toContain(
      "4 to create, 0 to update, 0 to delete, 0 unchanged, 4 held; 4 deletions are held",
    );
    expect(found[0]?.hint).toContain("put the old one back");
  });

  test("is loud before the grace period is over, too", async () => {
    const world = await aSyncedWorld(["a", "b", "c", "d"]);
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

  test("has the rejected rows by their reasons, the most frequent first", async () => {
    const world = new World([
      ...["a", "double", "double"].map((id) => ({ id, name: id, warehouse: "w" })),
      ...tenants("n-1", "n-2", "n-3", "n-4"),
      { id: null, name: "Nobody", warehouse: "w" },
    ]);
    const mapping = { kind: "keys", keys: { "40": column("warehouse") } } as const;
    const [, ...found] = await findPlan(world, { rules: someRules({ mapping }) });
    expect(found.map(({ level, message }) => `${level}: ${message}`)).toEqual([
      "warning: 4 rows rejected (VALUE_NULL): mapping.40 (column warehouse) is null: n-1, n-2, n-3, …",
      "warning: 1 row rejected (ID_NULL): column id is null: (a row without an id)",
      "warning: 1 row rejected (ID_DUPLICATE): 2 rows have this id in column id; none of them is used: double",
    ]);
    expect(found.map(({ hint }) => hint?.split("; until then")[0])).toEqual([
      "fill the column. Or add a default to the column's rule, or optional: true to a property's template",
      "fill the id column, or exclude the row with source.where",
      "make the id unique in the source",
    ]);
  });

  test("of a source without a tenant is a warning", async () => {
    const found = await findPlan(new World());
    expect(found.at(-1)).toMatchObject({ level: "warning", hint: expect.stringContaining("check the url") });
  });
});
