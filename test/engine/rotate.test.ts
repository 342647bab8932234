import { describe, expect, it } from "vitest";
import { ServiceFailure, type ServiceFailureCode } from "../../src/core/failure/service-failure.ts";
import type { RotationPolicy } from "../../src/core/rotation/rotation-policy.ts";
import type { RotationSelection } from "../../src/engine/rotation/rotation-selection.ts";
import type { Point } from "../fakes/instance.ts";
import type { TenantRecord } from "../fakes/tenant-source.ts";
import { aSyncedWorld as aWorldJustSynced, tenants, World } from "../fakes/world.ts";

const DAY = 86_400_000;

const ALL: RotationSelection = { kind: "all" };

const only = (...ids: string[]): RotationSelection => ({ kind: "only", ids: new Set(ids) });

const selections: [string, RotationSelection][] = [
  ["--all", ALL],
  ["--older-than", { kind: "older than", ageMs: 1_000 }],
];

async function aSyncedWorld(...ids: string[]): Promise<World> {
  const world = new World(tenants(...ids));
  world.service.existing = "update";
  await world.sync();
  await world.time.sleep(DAY);
  world.service.requests.length = 0;
  return world;
}

const renamed = (records: readonly TenantRecord[]): TenantRecord[] =>
  records.map((record) => ({ ...record, name: `New ${record.name}` }));

/** The ids of those tokens that are still live. */
const stillLive = (before: ReadonlyMap<string, string>, { service }: World): string[] =>
  [...before].flatMap(([id, token]) => (service.tokens.get(id) === token ? [id] : []));

const failing =
  (call: string, ...ids: string[]) =>
  (point: Point): void => {
    if (point.call === call && point.when === "before" && ids.includes(point.id ?? ""))
      throw new ServiceFailure("SERVICE_ERROR", "it was answered HTTP 501");
  };

const IDS = ["a", "b", "c", "d"];

const DUE: { rotation: RotationPolicy } = {
  rotation: { maxAgeMs: 90 * DAY, window: null, maxPerRun: null, concurrency: 1 },
};

const fails =
  (code: ServiceFailureCode, when: Point["when"], id: string, times = 1) =>
  (point: Point): void => {
    if (point.call === "rotate" && point.when === when && point.id === id && times-- > 0) {
      throw new ServiceFailure(code, `POST: ${code}`);
    }
  };

describe("rotate gives every selected group a new token,", () => {
  it.each(selections)("even if a killed sync left the group under way (%s)", async (_, selection) => {
    const ids = Array.from({ length: 40 }, (_, n) => `t${String(n).padStart(2, "0")}`);
    const world = await aSyncedWorld(...ids);
    world.tenants = renamed(world.tenants);
    let sent = 0;
    const started = world.start({
      at: ({ call, when }) => {
        if (call === "getOrCreate" && when === "before" && ++sent === 20) started.instance.kill();
      },
    });
    expect(await started.report).toBe("died");
    const before = world.service.tokens;

    expect(await world.rotate(selection)).toMatchObject({
      outcome: "ok",
      counts: { rotated: 40, failed: 0 },
    });
    expect(stillLive(before, world)).toEqual([]);
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expect([...world.service.groups.values()].map(({ group }) => group.name)).toEqual(
      ids.map((id) => `New Name of ${id}`),
    );
  });

  it("even if the service can't apply the group's update, without a look at the source", async () => {
    const world = await aSyncedWorld("a", "b", "c");
    world.tenants = [...tenants("a", "c"), ...renamed(tenants("b"))];
    const at = failing("getOrCreate", "b");
    expect((await world.sync({ at })).counts.failed).toBe(1);
    await world.time.sleep(DAY);
    const before = world.service.tokens;
    const { instance, report } = world.startRotation(ALL, { at });
    expect(await report).toMatchObject({ outcome: "ok", counts: { rotated: 3, failed: 0 } });
    expect(instance.history("before openSource", "before openLookups")).toEqual([]);
    expect(stillLive(before, world)).toEqual([]);
    expect(world.store.tokens).toEqual(world.service.tokens);
    // The update is still due.
    expect(world.ledger.rows.get("b")).toMatchObject({
      intent: "apply",
      failures: { change: { code: "SERVICE_ERROR" } },
    });
    expect((await world.sync()).counts.failed + world.store.refused.size).toBeLessThanOrEqual(1);
  });

  it("even if the row was rejected after its update began", async () => {
    for (let diesAt = 0, end: unknown = "died"; end === "died"; diesAt++) {
      const world = await aSyncedWorld("a", "b");
      world.tenants = [...tenants("a"), ...renamed(tenants("b"))];
      await world.sync({ at: failing("getOrCreate", "b") });
      world.tenants = [...tenants("a"), { id: "b", name: null, plan: "gold" }];
      const before = world.service.tokens;
      end = await world.startRotation(ALL, { diesAt }).report;
      if (end !== "died") {
        expect(end).toMatchObject({ outcome: "ok", counts: { rotated: 2 } });
        expect(stillLive(before, world)).toEqual([]);
      }
      await world.sync();
      expect({ diesAt, tokens: world.store.tokens }).toEqual({ diesAt, tokens: world.service.tokens });
      expect(world.ledger.rows.get("b")?.intent).toBeNull();
    }
  });

  it.each<[string, string, (world: World) => Promise<unknown>]>([
    [
      "create",
      "apply",
      (world) => {
        world.ledger.rows.delete("b");
        world.service.groups.delete("b");
        world.store.refused.add("b");
        return world.sync();
      },
    ],
    [
      "replacement",
      "replace",
      (world) => {
        world.tenants = [...tenants("a"), ...renamed(tenants("b"))];
        return world.sync({ at: failing("remove", "b"), settings: { update: "replace" } });
      },
    ],
    [
      "deletion",
      "delete",
      (world) => {
        world.tenants = tenants("a");
        return world.sync({ at: failing("remove", "b") });
      },
    ],
  ])("but names a group whose %s is under way, and leaves it to a sync", async (_, intent, leave) => {
    const world = await aSyncedWorld("a", "b");
    await leave(world);
    expect(world.ledger.rows.get("b")?.intent).toBe(intent);
    world.service.requests.length = 0;
    for (const [selection, sent] of [
      [ALL, ["POST a"]],
      [only("b"), []],
    ] as const) {
      world.service.requests.length = 0;
      expect(await world.rotate(selection)).toMatchObject({
        outcome: "partial",
        counts: { rotated: sent.length, failed: 1 },
        errors: [
          { user_group_id: "b", code: "UNSETTLED", message: expect.stringContaining("a sync has to") },
        ],
      });
      expect(world.sent).toEqual(sent);
    }
    world.store.refused.clear();
    await world.time.sleep(DAY);
    expect(await world.sync({ settings: { update: "replace" } })).toMatchObject({ outcome: "ok" });
    const before = world.service.tokens;
    expect(await world.rotate()).toMatchObject({ outcome: "ok" });
    expect(stillLive(before, world)).toEqual([]);
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  it("even if the tenant is gone or its replacement is held", async () => {
    const world = await aSyncedWorld("a", "b", "c", "d");
    world.tenants = [...tenants("a"), ...renamed(tenants("b"))];
    const held = { count: 0, percent: 0 };
    const report = await world.sync({
      settings: { update: "replace", deletion: { when: "absent", gracePeriodMs: 0, limit: held } },
    });
    expect(report.counts).toMatchObject({ held: 3 });
    const before = world.service.tokens;
    expect(await world.rotate()).toMatchObject({ outcome: "ok", counts: { rotated: 4 } });
    expect(stillLive(before, world)).toEqual([]);
    expect(world.store.tokens).toEqual(world.service.tokens);
    // The tenant is still gone, and the replacement is still held.
    expect(world.ledger.rows.get("c")).toMatchObject({ held: "delete", absence: { kind: "absent" } });
    expect(world.ledger.rows.get("b")).toMatchObject({ held: "replace" });
  });

  it("even if an earlier run's rotation is still open", async () => {
    for (let diesAt = 0, end: unknown = "died"; end === "died"; diesAt++) {
      const world = await aSyncedWorld("a", "b");
      end = await world.startRotation(ALL, { diesAt }).report;
      const before = world.service.tokens;
      await world.rotate();
      expect({ diesAt, live: stillLive(before, world) }).toEqual({ diesAt, live: [] });
      expect(world.store.tokens).toEqual(world.service.tokens);
      const times = [...world.ledger.formerTokens].filter(
        ({ user_group_id }) => user_group_id === "a",
      ).length;
      expect(times).toBeGreaterThanOrEqual(1);
    }
  });

  it.each(selections)("but not to a deleted group whose token is still stored (%s)", async (_, selection) => {
    const world = await aSyncedWorld("a", "b");
    world.store.notRemovable.add("b");
    world.tenants = tenants("a");
    await world.sync();
    expect(world.ledger.rows.get("b")?.intent).toBe("remove");
    await world.time.sleep(DAY);
    expect(await world.rotate(selection)).toMatchObject({
      outcome: "ok",
      counts: { rotated: 1, failed: 0 },
    });
    expect(await world.rotate(only("b"))).toMatchObject({
      outcome: "failed",
      error: { code: "UNKNOWN_ID" },
    });
  });

  it("whatever the clocks say about the tokens' age", async () => {
    const world = await aSyncedWorld("a", "b", "c");
    const before = world.service.tokens;
    const started = world.startRotation(ALL, {
      at: ({ call, when }) => {
        if (call === "acquireLease" && when === "before") started.clock.jump(-10 * DAY);
      },
    });
    expect(await started.report).toMatchObject({ outcome: "ok", counts: { rotated: 3 }, requests: 3 });
    expect(stillLive(before, world)).toEqual([]);
  });
});

describe("a rotation that ends early says that no sync goes on with it, and what does,", () => {
  it("if it is told to stop", async () => {
    const world = await aSyncedWorld(...IDS);
    const stop = new AbortController();
    const { error } = await world.rotate(ALL, {
      signal: stop.signal,
      at: (point) => {
        if (point.call === "rotate" && point.when === "after") stop.abort();
      },
    });
    const hint = expect.stringMatching(/^no sync rotates .*: run groupsync rotate --older-than AGE/);
    expect(error).toMatchObject({ code: "INTERRUPTED", hint });
  });

  it("if it was of some groups, and names those that are left", async () => {
    const world = await aSyncedWorld("a", "b", "c", "d");
    const stop = new AbortController();
    const { error } = await world.rotate(only("a", "b", "c"), {
      signal: stop.signal,
      at: ({ call, when, id }) => {
        if (call === "rotate" && when === "after" && id === "a") stop.abort();
      },
    });
    expect(error?.hint).toMatch(/^no sync rotates .*: give these ids to --only again: b, c$/);
  });

  it("if the service ends it", async () => {
    const world = await aSyncedWorld(...IDS);
    const { error } = await world.rotate(ALL, {
      at: ({ call, when }) => {
        if (call === "rotate" && when === "before") throw new ServiceFailure("UNREACHABLE", "no route");
      },
    });
    expect(error).toMatchObject({
      code: "SERVICE_UNAVAILABLE",
      hint: expect.stringMatching(/^check service.base_url.*; .*groupsync rotate --older-than AGE/),
    });
  });
});

describe("the report names the groups whose old token still works", () => {
  it.each<[string, boolean]>([
    ["failing before the service has the call", true],
    ["with a lost answer, and a GET that tells the old token", true],
  ])("%s", async (how, kept) => {
    const world = await aSyncedWorld("a", "b");
    const code = how.includes("lost") ? "SERVICE_ERROR" : "REFUSED";
    const report = await world.rotate(ALL, { at: fails(code, "before", "a", 99) });
    expect(report.counts).toMatchObject({ rotated: 1, failed: 1 });
    expect(report.keptTokens.has("a")).toBe(kept);
  });
});

describe("an adopted group that the service did not update", () => {
  async function anAdoptedWorld(): Promise<World> {
    const world = new World(tenants("a", "b"));
    world.service.put({ user_group_id: "a", name: "Theirs", mapping: {}, properties: {} });
    expect((await world.sync()).errors).toMatchObject([{ user_group_id: "a", code: "NOT_UPDATED" }]);
    world.service.requests.length = 0;
    return world;
  }

  it("is rotated like any other, by --all and by --only", async () => {
    for (const selection of [ALL, only("a")]) {
      const world = await anAdoptedWorld();
      const before = world.service.tokens.get("a");
      expect(await world.rotate(selection)).toMatchObject({ outcome: "ok" });
      expect(world.service.tokens.get("a")).not.toBe(before);
      expect(world.store.tokens).toEqual(world.service.tokens);
    }
  });

  it("is not sent in a GET that could change it", async () => {
    const world = await anAdoptedWorld();
    world.service.groups.delete("a");
    expect(await world.rotate()).toMatchObject({
      outcome: "partial",
      counts: { rotated: 1, failed: 1 },
      errors: [{ user_group_id: "a", code: "REFUSED" }],
    });
    expect(world.sent).toEqual(["POST a", "POST b"]);
    world.store.tokens.delete("a");
    expect(await world.rotate()).toMatchObject({ errors: [{ user_group_id: "a", code: "UNSETTLED" }] });
    expect(world.sent.filter((request) => request === "GET a")).toEqual([]);
  });
});

it("a token that the service refuses is asked for until a GET returns the live token", async () => {
  const world = new World(tenants("a", "b"));
  await world.sync();
  const meddled = world.service.groups.get("a");
  if (meddled) meddled.token = world.service.newToken("a");
  const refused = ({ when, call, id }: Point): void => {
    if (when === "before" && call === "getOrCreate" && id === "a")
      throw new ServiceFailure("REFUSED", "GET was answered HTTP 422");
  };
  expect(await world.startRotation(ALL, { at: refused }).report).toMatchObject({ counts: { failed: 1 } });
  await world.time.sleep(DAY);
  expect(await world.sync({ at: refused })).toMatchObject({ outcome: "partial" });
  await world.time.sleep(DAY);
  expect(await world.sync()).toMatchObject({ outcome: "ok" });
  expect(world.store.tokens).toEqual(world.service.tokens);
});

describe("what a sync rotates by itself", () => {
  it("leaves out groups whose tenant is gone or that have a change under way", async () => {
    const world = await aWorldJustSynced(IDS);
    world.tenants = [...tenants("a", "b"), { id: "c", name: "New name of c", plan: "gold" }];
    await world.time.sleep(90 * DAY);
    const at = failing("getOrCreate", "c");
    const deletion = { when: "never", gracePeriodMs: 0, limit: { count: 0, percent: 0 } } as const;
    await world.sync({ settings: { ...DUE, deletion }, at });
    expect(world.sent.filter((request) => request.startsWith("POST"))).toEqual(["POST a", "POST b"]);
  });

  it("is retried with growing delays if a rotation fails, and reported", async () => {
    const world = await aWorldJustSynced(IDS);
    await world.time.sleep(90 * DAY);
    const at = fails("REFUSED", "before", "a", 99);
    for (let times = 0; times < 3; times++) await world.sync({ settings: DUE, at });
    world.service.requests.length = 0;
    const report = await world.sync({ settings: DUE, at });
    expect(report).toMatchObject({ outcome: "partial", counts: { failed: 1 }, requests: 0 });
    expect(report.errors).toEqual([
      {
        user_group_id: "a",
        code: "REFUSED",
        message: expect.stringMatching(/^POST: REFUSED \(next try after 2026-/),
      },
    ]);
    await world.time.sleep(DAY);
    expect((await world.sync({ settings: DUE })).counts).toMatchObject({ rotated: 1, failed: 0 });
  });
});

describe("a due rotation that keeps failing waits for its next try", () => {
  /** How many POSTs six syncs send that follow each other at once. */
  async function postsOfSixSyncs(world: World, failure: ServiceFailure): Promise<number> {
    await world.time.sleep(91 * DAY);
    let posts = 0;
    const at = ({ when, call }: Point): void => {
      if (when !== "before" || call !== "rotate") return;
      posts++;
      throw failure;
    };
    for (let n = 0; n < 6; n++) await world.sync({ settings: DUE, at });
    return posts;
  }

  it("even if each sync asks for the live token, because a POST's answer was lost", async () => {
    const world = await aWorldJustSynced(["a"]);
    expect(await postsOfSixSyncs(world, new ServiceFailure("BAD_RESPONSE", "no token in it"))).toBe(3);
  });

  it("even if an update of its group keeps failing too", async () => {
    const world = await aWorldJustSynced(["a"]);
    world.tenants = renamed(world.tenants);
    expect(await postsOfSixSyncs(world, new ServiceFailure("REFUSED", "HTTP 422"))).toBe(3);
  });
});
