import { describe, expect, test } from "vitest";
import { ServiceFailure } from "../../../src/core/failure/service-failure.ts";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { aGroup } from "../../builders/groups.ts";
import { failing } from "../../fakes/instance.ts";
import { expectBoth, synced, TwoStores } from "../../fakes/two-stores.ts";
import { tenants, World } from "../../fakes/world.ts";

const MINUTE = 60_000;

const changed = [{ id: "a", name: "New", plan: "gold" }];

const refuse = failing("before", "getOrCreate", () => new ServiceFailure("REFUSED", "HTTP 422"));

/** The second store has refused the token of "a", and still refuses it. */
async function aWorldThatLacksA(...ids: string[]): Promise<TwoStores> {
  const world = new TwoStores(tenants(...ids));
  world.second.refused.add("a");
  await world.sync();
  return world;
}

describe("of many groups, one whose token no store has", () => {
  const ids = Array.from({ length: 600 }, (_, n) => `t${String(n).padStart(3, "0")}`);

  async function aWorldThatLostOne(): Promise<TwoStores> {
    const world = await synced(...ids);
    for (const store of [world.store, world.second]) store.tokens.delete("t000");
    return world;
  }

  test("is asked for although a later page can't be read", async () => {
    const world = await aWorldThatLostOne();
    const away = () => new SyncError("TOKEN_STORE_UNAVAILABLE", "away");
    await world.sync({ verifyTokens: true, at: failing("before", "readTokens", away, { from: 5 }) });
    expect(world.sent).toEqual(["GET t000"]);
  });

  test("is asked for although the run is told to end before it has read all pages", async () => {
    const world = await aWorldThatLostOne();
    const ending = new AbortController();
    let reads = 0;
    const { report } = world.start({
      verifyTokens: true,
      signal: ending.signal,
      at: ({ when, call, store }) => {
        if (when === "before" && call === "readTokens" && !store && ++reads === 3) ending.abort();
      },
    });
    await report;
    expect(world.sent).toEqual(["GET t000"]);
  });
});

describe("tokens in two stores", () => {
  test("what a store lacks stays known if a rotation has found it, and nobody wants that one any more", async () => {
    const world = await synced("a", "b");
    world.second.tokens.delete("a");
    world.second.refused.add("a");
    expect(await world.rotate()).toMatchObject({ outcome: "partial", counts: { rotated: 1, failed: 1 } });
    await world.cancelRotations();
    expect(await world.sync()).toMatchObject({
      outcome: "partial",
      errors: [{ user_group_id: "a", code: "TOKEN_NOT_EVERYWHERE" }],
    });
    world.second.refused.clear();
    await world.time.sleep(MINUTE);
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { restored: 1 } });
    expectBoth(world);
  });

  test("a store that keeps refusing is tried with growing delays, and the group stays failed", async () => {
    const world = new TwoStores(tenants("a"));
    world.second.refused.add("a");
    for (let sync = 1; sync <= 4; sync++) {
      expect(await world.sync()).toMatchObject({ outcome: "partial", counts: { failed: 1 } });
    }
    expect(world.service.requests).toHaveLength(1);
    const waiting = await world.sync();
    expect(waiting.errors[0]?.message).toContain("next try after");
    world.second.refused.clear();
    await world.time.sleep(10 * MINUTE);
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { restored: 1 }, requests: 0 });
    expectBoth(world);
  });

  test("if no store has the token that the ledger knows, a GET returns it", async () => {
    const world = await aWorldThatLacksA("a");
    world.store.tokens.delete("a");
    world.second.refused.clear();
    expect(await world.sync()).toMatchObject({
      outcome: "ok",
      counts: { restored: 1, updated: 0 },
      requests: 1,
    });
    expectBoth(world);
  });

  test("the tokens to restore are announced first, wherever they come from", async () => {
    const world = await synced("a", "b", "c", "d");
    world.second.tokens.delete("a");
    world.second.tokens.delete("b");
    world.second.refused.add("b");
    for (const store of [world.store, world.second]) store.tokens.delete("c");
    const { events, report } = world.start({ verifyTokens: true });
    await report;
    expect(events.filter(({ kind }) => kind === "restoring")).toEqual([{ kind: "restoring", tokens: 3 }]);
    const done = events.filter(({ kind }) => ["restored", "recorded", "failed"].includes(kind));
    expect(done).toHaveLength(3);
  });

  test("a change of the group replaces the pending restore", async () => {
    const world = await aWorldThatLacksA("a");
    world.second.refused.clear();
    world.service.existing = "update";
    world.tenants = changed;
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { restored: 1, updated: 1 } });
    expectBoth(world);
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { unchanged: 1 }, requests: 0 });
  });

  test("a sync of some tenants leaves all other tokens alone", async () => {
    const world = await aWorldThatLacksA("a", "b");
    world.second.refused.clear();
    expect(await world.sync({ only: new Set(["b"]) })).toMatchObject({
      outcome: "ok",
      counts: { restored: 0 },
    });
    expect(world.second.tokens.has("a")).toBe(false);
  });
});

describe("a group whose update is refused, and whose token is not in every store", () => {
  test("is asked for with growing delays, and counts as failed once a sync", async () => {
    const world = await aWorldThatLacksA("a");
    world.tenants = changed;
    let requests = 0;
    for (let sync = 1; sync <= 7; sync++) {
      const report = await world.sync({ at: refuse });
      expect(report).toMatchObject({ outcome: "partial", counts: { failed: 1 } });
      expect(report.errors).toMatchObject([{ user_group_id: "a" }]);
      requests += report.requests;
    }
    expect(requests).toBe(3);
  });

  test("gets its token without a retry of the update, and its update without a retry of the token", async () => {
    const world = await aWorldThatLacksA("a");
    world.tenants = changed;
    for (let sync = 1; sync <= 5; sync++) await world.sync({ at: refuse });
    world.second.refused.clear();
    await world.time.sleep(30 * 1000);
    expect(await world.sync({ verifyTokens: true })).toMatchObject({
      outcome: "partial",
      counts: { restored: 1, failed: 1 },
      requests: 0,
    });
    expectBoth(world);
    world.service.existing = "update";
    await world.time.sleep(MINUTE);
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { updated: 1 } });
    expectBoth(world);
    expect(await world.sync()).toMatchObject({ outcome: "ok", requests: 0 });
  });

  test("is asked for once in a sync with --verify-tokens if no store has its token", async () => {
    const world = await synced("a", "b");
    for (const { tokens } of [world.store, world.second]) tokens.delete("a");
    world.tenants = [...changed, ...tenants("b")];
    const report = await world.sync({ verifyTokens: true, at: refuse });
    expect(report).toMatchObject({ outcome: "partial", counts: { failed: 1, unchanged: 1 }, requests: 1 });
    expect(report.errors).toMatchObject([{ user_group_id: "a", code: "REFUSED" }]);
    expect(await world.sync({ at: refuse })).toMatchObject({ counts: { failed: 1 }, requests: 1 });
  });
});

describe("a tenant that was gone for a while", () => {
  const KEPT = { deletion: { when: "never", gracePeriodMs: 0, limit: { count: 0, percent: 0 } } } as const;

  /** Syncs without the tenant, which is back for the next sync. */
  async function cameBack(world: TwoStores): Promise<void> {
    const { tenants } = world;
    world.tenants = tenants.filter(({ id }) => id !== "a");
    await world.sync({ settings: KEPT });
    world.tenants = tenants;
  }

  test("has its token verified by the sync that finds it again", async () => {
    const world = await synced("a", "b");
    world.store.tokens.delete("a");
    await cameBack(world);
    expect(await world.sync({ verifyTokens: true })).toMatchObject({
      outcome: "ok",
      counts: { restored: 1 },
    });
    expectBoth(world);
  });

  test("gets its token if it was missing before", async () => {
    const world = await aWorldThatLacksA("a", "b");
    await cameBack(world);
    expect(await world.sync()).toMatchObject({
      outcome: "partial",
      errors: [{ user_group_id: "a", code: "TOKEN_NOT_EVERYWHERE" }],
    });
    world.second.refused.clear();
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { restored: 1 }, requests: 0 });
    expectBoth(world);
  });
});

test("a GET for a token leaves a held replacement held", async () => {
  const world = await synced("a");
  world.tenants = changed;
  for (const { tokens } of [world.store, world.second]) tokens.clear();
  const deletion = { when: "never", gracePeriodMs: 0, limit: { count: 0, percent: 0 } } as const;
  const report = await world.sync({ verifyTokens: true, settings: { update: "replace", deletion } });
  expect(report).toMatchObject({ outcome: "held", counts: { restored: 1, updated: 0, held: 1 } });
  expect(world.ledger.rows.get("a")?.held).toBe("replace");
  expectBoth(world);
});

describe("a missing token of a group whose confirmed state isn't known", () => {
  /** The service has had another name for b since before the first sync, and the store has lost b's token. */
  async function aWorldThatLostB(): Promise<World> {
    const world = new World(tenants("a", "b"));
    world.service.put(aGroup({ user_group_id: "b", name: "Another" }));
    expect(await world.sync()).toMatchObject({ errors: [{ user_group_id: "b", code: "NOT_UPDATED" }] });
    world.store.tokens.delete("b");
    return world;
  }

  test("is no failure of a sync whose update brings it back", async () => {
    const world = await aWorldThatLostB();
    world.service.existing = "update";
    expect(await world.sync({ verifyTokens: true })).toMatchObject({ outcome: "ok", errors: [] });
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  test("is not reported as missing if the update fails but brings it back", async () => {
    const world = await aWorldThatLostB();
    const { errors } = await world.sync({ verifyTokens: true });
    expect(errors).toMatchObject([{ user_group_id: "b", code: "NOT_UPDATED" }]);
    expect(errors[0]?.message).not.toContain("no token store has");
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  test("is reported if no update is made", async () => {
    const world = await aWorldThatLostB();
    world.tenants = [...tenants("a"), { id: "b", name: null }];
    const { errors } = await world.sync({ verifyTokens: true });
    expect(errors).toContainEqual(
      expect.objectContaining({ user_group_id: "b", code: "TOKEN_NOT_EVERYWHERE" }),
    );
  });
});
