import { describe, expect, it, test } from "vitest";
import { compositeTokenStore } from "../../../src/adapters/token-stores/composite-token-store.ts";
import { ServiceFailure, type ServiceFailureCode } from "../../../src/core/failure/service-failure.ts";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import type { SyncPorts } from "../../../src/engine/sync.ts";
import { failing, type Instance, type Point } from "../../fakes/instance.ts";
import { InMemoryTokenStore, TokenState } from "../../fakes/token-store.ts";
import { expectBoth, TwoStores } from "../../fakes/two-stores.ts";
import type { VirtualClock } from "../../fakes/virtual-time.ts";
import { aSyncedWorld, syncSettings, tenants, World } from "../../fakes/world.ts";

const IDS = Array.from({ length: 30 }, (_, n) => `t${String(n).padStart(2, "0")}`);

const settings = { concurrency: 3 };

const asked = (world: World): string[] => world.service.requests.map(({ id }) => id);

const underWay = (world: World): string[] =>
  [...world.ledger.rows].flatMap(([id, row]) => (row.intent === null ? [] : [id]));

const ids = (many: number): string[] => Array.from({ length: many }, (_, n) => `t${n}`);

/** Records how many tokens each write of a table beside the ledger has. */
class CountingWorld extends World {
  readonly second = Object.assign(new TokenState(), { sharesLedger: true });
  readonly counts: number[] = [];

  override ports(instance: Instance, clock: VirtualClock): Omit<SyncPorts, "observe"> {
    const ports = super.ports(instance, clock);
    const second = new InMemoryTokenStore(this.second, instance.step, ports.ledger);
    const write = second.write.bind(second);
    second.write = (tokens, ...rest) => {
      this.counts.push(tokens.length);
      return write(tokens, ...rest);
    };
    return { ...ports, tokens: compositeTokenStore([ports.tokens, second]) };
  }
}

const MANY = tenants(...Array.from({ length: 500 }, (_, n) => `t-${n}`));

const WITH_100_CALLS = { settings: syncSettings({ concurrency: 100 }) };

const HOUR = 3_600_000;

const CODES: ServiceFailureCode[] = ["SERVICE_ERROR", "TIMEOUT", "BAD_RESPONSE", "OVERLOADED"];

/** Fails every GET for these groups, like a service that can't handle something about them. */
const refusing = (code: ServiceFailureCode, ...ids: string[]) =>
  failing("before", "getOrCreate", () => new ServiceFailure(code, code), { ids });

const groups = (world: World): string[] => [...world.service.groups.keys()].sort();

const confirmedIn = (world: World): string[] =>
  [...world.ledger.rows].flatMap(([id, row]) =>
    row.fingerprint !== null && row.intent === null ? [id] : [],
  );

describe("recording", () => {
  it("fails only the tenant whose token can't be stored", async () => {
    const world = new World(tenants("a", "b", "c"));
    world.store.refused.add("b");
    const report = await world.sync();
    expect(report).toMatchObject({ outcome: "partial", counts: { created: 2, failed: 1 } });
    expect(report.errors).toMatchObject([{ user_group_id: "b", code: "TOKEN_NOT_STORED" }]);
    expect(underWay(world)).toEqual(["b"]);

    world.store.refused.clear();
    const before = world.service.requests.length;
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { created: 1, unchanged: 2 } });
    expect(asked(world).slice(before)).toEqual(["b"]);
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  it.each([1, 2, 3, 5, 8])(
    "ends the run if the ledger fails for good from its commit %i on, and loses nothing",
    async (from) => {
      const world = new World(tenants(...IDS));
      const away = () => new SyncError("LEDGER_UNAVAILABLE", "no route");
      const report = await world.sync({ settings, at: failing("before", "commit", away, { from }) });
      expect(report).toMatchObject({ outcome: "failed", error: { code: "LEDGER_UNAVAILABLE" } });
      for (const id of asked(world)) expect(world.ledger.rows.has(id)).toBe(true);
      expect(world.service.requests.length).toBeLessThan(IDS.length);

      expect(await world.sync({ settings })).toMatchObject({ outcome: "ok" });
      expect(world.store.tokens).toEqual(world.service.tokens);
      expect(world.service.groups.size).toBe(IDS.length);
    },
  );
});

test("what a store outside has taken is recorded, even if that store has failed and a table is to have the token too", async () => {
  const world = new TwoStores(tenants(...IDS));
  world.second.sharesLedger = true;
  await world.sync({ only: new Set(["t00"]) });
  const away = failing("before", "writeTokens", () => new SyncError("TOKEN_STORE_UNAVAILABLE", "no route"), {
    ids: ["t05"],
  });
  const at = async (point: Point): Promise<void> => {
    if (point.call === "commit") await world.time.sleep(1_000);
    away(point);
  };
  const report = await world.sync({ settings: { concurrency: 8 }, at });
  expect(report.error?.code).toBe("TOKEN_STORE_UNAVAILABLE");
  const [taken, before] = [[...world.store.tokens.keys()], world.service.requests.length];
  expect(taken.length).toBeGreaterThan(3);
  expect(await world.sync()).toMatchObject({ outcome: "ok" });
  expect(
    asked(world)
      .slice(before)
      .filter((id) => taken.includes(id)),
  ).toEqual([]);
  expectBoth(world);
});

test("if a store refuses ten tokens and takes none, the store as a whole has failed", async () => {
  const world = new World(tenants(...ids(200)));
  for (const id of ids(200)) world.store.refused.add(id);
  const report = await world.sync();
  expect(report).toMatchObject({
    outcome: "failed",
    error: { code: "TOKEN_STORE_UNAVAILABLE", message: expect.stringContaining("no room for it") },
  });
  expect(world.service.groups.size).toBeLessThan(50);
  // The refused groups wait longer and longer, and don't end the runs of the others for good.
  world.tenants = [...world.tenants, ...tenants("new")];
  for (const id of ids(200).slice(10)) world.store.refused.delete(id);
  for (let sync = 0; sync < 4; sync++) await world.sync();
  expect(await world.sync()).toMatchObject({ outcome: "partial", counts: { failed: 10 } });
  expect(world.store.tokens.size).toBe(191);
});

test("a deletion is recorded once, even if the store ends the run over other tokens", async () => {
  const world = await aSyncedWorld(["old"]);
  world.tenants = tenants(...ids(10));
  world.store.notRemovable.add("old");
  for (const id of ids(10)) world.store.refused.add(id);
  const report = await world.sync({ settings: { concurrency: 20 } });
  expect(report.error?.code).toBe("TOKEN_STORE_UNAVAILABLE");
  expect(world.ledger.rows.get("old")).toMatchObject({
    intent: "remove",
    failures: { change: { count: 1 } },
  });
});

test.each([
  ["writeTokens", "TOKEN_NOT_STORED"],
  ["removeTokens", "TOKEN_NOT_REMOVED"],
])("if %s breaks the transaction over one row, only its tenant fails", async (act, code) => {
  const world = new World(act === "removeTokens" ? tenants(...ids(20)) : []);
  world.store.sharesLedger = true;
  await world.sync();
  world.tenants = act === "removeTokens" ? tenants("other") : tenants(...ids(20));
  world.store.breaks.add("t7");
  expect(await world.sync()).toMatchObject({
    outcome: "partial",
    counts: { failed: 1 },
    errors: [{ user_group_id: "t7", code }],
  });
  world.store.breaks.clear();
  expect(await world.sync()).toMatchObject({ outcome: "ok" });
  expect(world.store.tokens).toEqual(world.service.tokens);
});

test("at most 64 tokens are written in one transaction, however many are ready", async () => {
  const world = new CountingWorld(MANY);
  expect(await world.sync(WITH_100_CALLS)).toMatchObject({ outcome: "ok", counts: { created: 500 } });
  world.second.tokens.clear();
  expect(await world.sync({ ...WITH_100_CALLS, verifyTokens: true })).toMatchObject({
    outcome: "ok",
    counts: { restored: 500 },
  });
  expect(world.counts.reduce((sum, count) => sum + count)).toBe(1_000);
  expect(Math.max(...world.counts)).toBeLessThanOrEqual(64);
  expect(world.second.tokens).toEqual(world.service.tokens);
});

describe.each(CODES)("if a new service always fails with %s for the first tenants", (code) => {
  it.each([5, 6, 12])("a schedule of syncs gets past %s of them", async (count) => {
    const bad = Array.from({ length: count }, (_, n) => `bad ${String(n).padStart(2, "0")}`);
    const good = ["good 1", "good 2", "good 3"];
    const world = new World(tenants(...bad, ...good));
    expect(await world.sync({ at: refusing(code, ...bad) })).toMatchObject({
      outcome: "failed",
      error: { code: "SERVICE_UNAVAILABLE" },
    });
    // An hour is longer than any wait after a failure here.
    for (let syncs = 0; syncs < 6; syncs++) {
      await world.time.sleep(HOUR);
      await world.sync({ at: refusing(code, ...bad) });
    }
    expect(groups(world)).toEqual(good);

    world.tenants = tenants(...bad, ...good, "new");
    await world.time.sleep(HOUR);
    world.service.requests.length = 0;
    await world.sync({ at: refusing(code, ...bad) });
    expect(groups(world)).toContain("new");
  });
});

it("a crash leaves as many groups unrecorded as may be under way", async () => {
  const concurrency = 4;
  // The store of these tests takes 64 tokens at a time.
  const most = 2 * 64;
  const many = Array.from({ length: 400 }, (_, n) => `tenant-${String(n).padStart(3, "0")}`);
  let seen = 0;
  const world = new World(tenants(...many));
  // The database is slow, and the service is fast.
  const at = async ({ call }: { call: string }): Promise<void> => {
    if (call === "commit") await world.time.sleep(1_000);
    seen = Math.max(seen, world.service.groups.size - confirmedIn(world).length);
  };
  await world.sync({ settings: { concurrency }, at });
  expect(seen).toBeGreaterThanOrEqual(most);
  expect(seen).toBeLessThanOrEqual(most + concurrency + 8);
});

it("makes few groups if the store takes long to refuse every token", async () => {
  const concurrency = 4;
  const world = new World(tenants(...ids(400)));
  for (const id of ids(400)) world.store.refused.add(id);
  const at = async ({ when, call }: Point): Promise<void> => {
    if (when === "before" && call === "getOrCreate") await world.time.sleep(10);
    if (when === "before" && call === "writeTokens") await world.time.sleep(5_000);
  };
  const report = await world.sync({ settings: { concurrency }, at });
  expect(report.error?.code).toBe("TOKEN_STORE_UNAVAILABLE");
  expect(world.service.groups.size).toBeGreaterThan(concurrency);
  // The first batch, and eight outcomes for each call beside the calls themselves.
  expect(world.service.groups.size).toBeLessThanOrEqual(1 + 9 * concurrency);
});

it("nobody waits for a token that a store outside of the ledger's database takes long to store", async () => {
  const world = new World(tenants(...ids(40)));
  const at = async ({ when, call, id }: Point): Promise<void> => {
    if (when === "before" && call === "writeTokens" && id === "t0") await world.time.sleep(60_000);
  };
  const { report } = world.start({ settings: { concurrency: 2 }, at });
  await world.time.sleep(50_000);
  expect(confirmedIn(world)).toHaveLength(39);
  expect(await report).toMatchObject({ outcome: "ok", counts: { created: 40 } });
});

describe("a batch", () => {
  const counts = async (answerMs: number): Promise<readonly number[]> => {
    const world = new CountingWorld(MANY);
    const at = async ({ when, call }: Point): Promise<void> => {
      if (when === "before" && call === "getOrCreate") await world.time.sleep(answerMs);
      if (call === "commit") await world.time.sleep(20);
    };
    expect(await world.sync({ settings: { concurrency: 4 }, at })).toMatchObject({
      counts: { created: 500 },
    });
    return world.counts;
  };

  it("waits for more outcomes if the service is fast", async () => {
    const batches = await counts(5);
    // All but the first ones have the answers of a tenth of a second.
    expect(batches.length).toBeLessThan(25);
    expect(Math.max(...batches)).toBe(64);
  });

  it("is written at once if the service is slow", async () => {
    const batches = await counts(1_000);
    expect(Math.max(...batches)).toBeLessThanOrEqual(4);
  });
});
