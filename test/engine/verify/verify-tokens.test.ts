import { describe, expect, test } from "vitest";
import { ServiceFailure } from "../../../src/core/failure/service-failure.ts";
import { noCounts } from "../../../src/core/report/counts.ts";
import type { RunEvent, Warning } from "../../../src/ports/observer.ts";
import { aGroup } from "../../builders/groups.ts";
import { failing } from "../../fakes/instance.ts";
import { expectBoth, synced, type TwoStores } from "../../fakes/two-stores.ts";
import { aSyncedWorld, type StartOptions, tenants, World } from "../../fakes/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe("--verify-tokens", () => {
  test.each<[string, (world: TwoStores) => void, number]>([
    ["removed from one store", ({ second }) => second.tokens.delete("b"), 0],
    ["changed in one", ({ store }) => store.tokens.set("b", "made up"), 1],
    ["removed from both", ({ store, second }) => [store, second].map(({ tokens }) => tokens.delete("b")), 1],
    [
      "replaced by another group's in both",
      ({ store, second, service }) =>
        [store, second].map(({ tokens }) => tokens.set("b", service.tokens.get("a") ?? "")),
      1,
    ],
  ])("restores a token that was %s", async (_, meddle, requests) => {
    const world = await synced("a", "b", "c");
    meddle(world);
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { unchanged: 3 }, requests: 0 });
    const report = await world.sync({ verifyTokens: true });
    expect(report).toMatchObject({
      outcome: "ok",
      counts: { restored: 1, updated: 0, unchanged: 3 },
      requests,
    });
    expectBoth(world);
    expect(await world.sync({ verifyTokens: true })).toMatchObject({ counts: { restored: 0 }, requests: 0 });
  });

  test("sends no request if all tokens are stored, however many there are", async () => {
    const world = await synced(...Array.from({ length: 2_500 }, (_, n) => `t${n}`));
    expect(await world.sync({ verifyTokens: true })).toMatchObject({ outcome: "ok", requests: 0 });
  });

  test("restores the token of a group that was adopted", async () => {
    const world = new World(tenants("a"));
    world.service.put(aGroup({ user_group_id: "a", name: "Name of a" }));
    await world.sync();
    world.store.tokens.delete("a");
    const report = await world.sync({ verifyTokens: true });
    expect(report.counts).toEqual({ ...noCounts(), restored: 1, unchanged: 1 });
  });

  test("stores a token that another program rotated, and records which token was live when", async () => {
    const world = await synced("a");
    const group = world.service.groups.get("a");
    if (group) world.service.groups.set("a", { ...group, token: "ugt_new" });
    world.store.tokens.delete("a");
    world.second.tokens.delete("a");
    expect(await world.sync({ verifyTokens: true })).toMatchObject({ outcome: "ok", requests: 1 });
    expectBoth(world);
    expect(world.ledger.formerTokens).toHaveLength(1);
  });
});

describe("a ledger that was restored from a backup, together with one of the token stores", () => {
  /** The ledger and the first store have a token of which the service and the second store know that it is dead. */
  async function restored(): Promise<TwoStores> {
    const world = await synced("a");
    const before = { row: world.ledger.rows.get("a"), token: world.store.tokens.get("a") };
    await world.startRotation({ kind: "all" }).report;
    if (before.row === undefined || before.token === undefined) throw new Error("nothing was synced");
    world.ledger.rows.set("a", before.row);
    world.store.tokens.set("a", before.token);
    return world;
  }

  test("has the service say which of two tokens is live", async () => {
    const world = await restored();
    const report = await world.sync({ verifyTokens: true });
    expect(report).toMatchObject({ outcome: "ok", counts: { restored: 1 } });
    expectBoth(world);
  });

  test("never has a dead token written over a live one, even if the run dies or the service refuses at any moment", async () => {
    for (let diesAt = 0; ; diesAt++) {
      const world = await restored();
      const end = await world.start({ verifyTokens: true, diesAt }).report;
      expect(world.second.tokens).toEqual(world.service.tokens);
      if (end !== "died") break;
    }
    const world = await restored();
    const refuse = failing("before", "getOrCreate", () => new ServiceFailure("REFUSED", "HTTP 422"));
    expect(await world.sync({ verifyTokens: true, at: refuse })).toMatchObject({ outcome: "partial" });
    expect(world.second.tokens).toEqual(world.service.tokens);
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { restored: 1 } });
    expectBoth(world);
  });
});

describe("tokens.verify", () => {
  const HOURLY = { settings: { verifyTokensMs: HOUR } };

  /** Changes a stored token behind the ledger's back. */
  const meddle = ({ store }: TwoStores): void => {
    store.tokens.delete("a");
  };

  test("tokens are verified as often as the config says, whichever process did it last", async () => {
    const world = await synced("a", "b");
    meddle(world);
    expect(await world.sync(HOURLY)).toMatchObject({ counts: { restored: 0, unchanged: 2 } });
    await world.time.sleep(HOUR);
    expect(await world.sync(HOURLY)).toMatchObject({ counts: { restored: 1, updated: 0, unchanged: 2 } });
    meddle(world);
    expect(await world.sync(HOURLY)).toMatchObject({ counts: { restored: 0 } });
    expect(await world.sync()).toMatchObject({ counts: { restored: 0 } });
    await world.time.sleep(HOUR);
    expect(await world.sync()).toMatchObject({ counts: { restored: 0 } });
    expect(await world.sync(HOURLY)).toMatchObject({ counts: { restored: 1 } });
  });

  test("tokens that an operator has had verified are not due again for the whole period", async () => {
    const world = await synced("a", "b");
    await world.time.sleep(HOUR);
    await world.sync({ verifyTokens: true });
    meddle(world);
    expect(await world.sync(HOURLY)).toMatchObject({ counts: { restored: 0 } });
  });

  test("tokens that a clock which was ahead had verified are due", async () => {
    const world = await synced("a", "b");
    const verifiedAt = new Date(world.time.now().getTime() + 1);
    world.ledger.tokens = { ...world.ledger.tokens, verifiedAt };
    meddle(world);
    expect(await world.sync(HOURLY)).toMatchObject({ counts: { restored: 1 } });
  });

  test("a sync of some tenants verifies their tokens, and leaves the others due", async () => {
    const world = await synced("a", "b");
    await world.time.sleep(HOUR);
    meddle(world);
    await world.sync({ ...HOURLY, only: new Set(["b"]) });
    expect(await world.sync(HOURLY)).toMatchObject({ counts: { restored: 1 } });
  });

  test("tokens are due again after a run that died before it had verified them all", async () => {
    for (let diesAt = 0; ; diesAt++) {
      const world = await synced("a", "b");
      await world.time.sleep(HOUR);
      meddle(world);
      const isOver = (await world.start({ ...HOURLY, diesAt }).report) !== "died";
      await world.time.sleep(HOUR / 60);
      await world.sync(HOURLY);
      expect(world.store.tokens).toEqual(world.service.tokens);
      if (isOver) break;
    }
  });
});

/** Some tenants were removed while the ledger was lost. */
async function aWorldWithout(gone: readonly string[], ...left: string[]): Promise<World> {
  const world = await aSyncedWorld([...left, ...gone]);
  world.ledger.clear();
  world.tenants = tenants(...left);
  return world;
}

const untrackedIn = (events: readonly RunEvent[]): Warning[] =>
  events.flatMap((event) => (event.kind === "warning" && event.code === "GROUP_UNTRACKED" ? [event] : []));

async function warnings(world: World, options: StartOptions = {}): Promise<string[]> {
  const { events, report } = world.start(options);
  await report;
  return untrackedIn(events).map(({ message }) => message);
}

describe("a token whose group the ledger doesn't know and whose tenant is gone", () => {
  test("is reported by the sync that adopts the other groups, with a remedy", async () => {
    const world = await aWorldWithout(["b"], "a", "c");
    const { events, report } = world.start();
    expect(await report).toMatchObject({ outcome: "ok", counts: { adopted: 2, deleted: 0 } });
    expect(untrackedIn(events)).toEqual([
      {
        kind: "warning",
        code: "GROUP_UNTRACKED",
        message:
          "1 token in the store belongs to a group that the ledger doesn't know and whose tenant is gone: b",
        hint: expect.stringContaining("restore the ledger"),
      },
    ]);
    expect(world.store.tokens.has("b")).toBe(true);
  });

  test("is reported again only by a sync with --verify-tokens", async () => {
    const world = await aWorldWithout(["b"], "a", "c");
    expect(await warnings(world)).toHaveLength(1);
    expect(await warnings(world)).toEqual([]);
    expect(await warnings(world, { verifyTokens: true })).toHaveLength(1);
  });

  test("is reported even if a sync of some tenants came before", async () => {
    const world = await aWorldWithout(["b"], "a", "c");
    expect(await warnings(world, { only: new Set(["a"]) })).toEqual([]);
    expect(await warnings(world)).toHaveLength(1);
  });

  test("is reported before anything changes, even if the sync dies at any moment", async () => {
    for (let diesAt = 0; ; diesAt++) {
      const world = await aWorldWithout(["b"], "a", "c");
      const before = world.service.requests.length;
      const first = world.start({ diesAt });
      const end = await first.report;
      if (world.service.requests.length > before) expect(untrackedIn(first.events)).toHaveLength(1);
      if (end !== "died") break;
    }
  });

  test("is no longer reported once a sync has seen its tenant again", async () => {
    const world = await aWorldWithout(["b"], "a");
    await world.sync();
    world.tenants = tenants("a", "b");
    expect(await world.sync()).toMatchObject({ counts: { adopted: 1 } });
    world.tenants = tenants("a");
    expect(await world.sync()).toMatchObject({ counts: { deleted: 1 } });
    expect(await warnings(world, { verifyTokens: true })).toEqual([]);
    expect([...world.service.groups.keys()]).toEqual(["a"]);
  });

  test("the first of many are named and all are counted", async () => {
    const gone = Array.from({ length: 12 }, (_, n) => `t${String(n).padStart(2, "0")}`);
    const [message] = await warnings(await aWorldWithout(gone, "a", "z"));
    expect(message).toMatch(/^12 tokens in the store belong to groups .*: t00, t01, .*, t09 and 2 more$/);
  });
});

test("a token whose row is rejected, or that could not be removed, is not untracked", async () => {
  const world = await aWorldWithout([], "a", "b", "c");
  world.tenants = [...tenants("a", "c"), { id: "b", name: null, plan: "gold" }];
  expect(await warnings(world)).toEqual([]);
  world.store.notRemovable.add("c");
  world.tenants = world.tenants.filter(({ id }) => id !== "c");
  const { errors } = await world.sync();
  expect(errors).toContainEqual(expect.objectContaining({ user_group_id: "c", code: "TOKEN_NOT_REMOVED" }));
  expect(await warnings(world, { verifyTokens: true })).toEqual([]);
});

test("rotate --all reports groups that the ledger doesn't know, and ends as partial", async () => {
  const world = await aWorldWithout(["b"], "a");
  await world.sync();
  const before = world.service.tokens;
  const { report } = world.startRotation({ kind: "all" });
  expect(await report).toMatchObject({
    outcome: "partial",
    counts: { rotated: 1, failed: 1 },
    errors: [{ user_group_id: "b", code: "GROUP_UNTRACKED" }],
  });
  expect(world.service.tokens.get("a")).not.toBe(before.get("a"));
  const only = { kind: "only", ids: new Set(["a"]) } as const;
  expect(await world.startRotation(only).report).toMatchObject({ outcome: "ok" });
});
