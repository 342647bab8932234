import { describe, expect, it } from "vitest";
import { ServiceFailure, type ServiceFailureCode } from "../../src/core/failure/service-failure.ts";
import { SyncError } from "../../src/core/failure/sync-error.ts";
import type { RotationPolicy } from "../../src/core/rotation/rotation-policy.ts";
import type { RotationSelection } from "../../src/engine/rotate.ts";
import { failing, type Point } from "../fakes/instance.ts";
import type { TenantRecord } from "../fakes/tenant-source.ts";
import { aSyncedWorld as aWorldJustSynced, refusesNew, tenants, World } from "../fakes/world.ts";

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

const failsAt = (call: string, ...ids: string[]) =>
  failing("before", call, () => new ServiceFailure("SERVICE_ERROR", "it was answered HTTP 501"), { ids });

const IDS = ["a", "b", "c", "d"];

const DUE: { rotation: RotationPolicy } = {
  rotation: { maxAgeMs: 90 * DAY, window: null, maxPerRun: null, concurrency: 1 },
};

const fails = (code: ServiceFailureCode, when: Point["when"], id: string, times = 1) =>
  failing(when, "rotate", () => new ServiceFailure(code, `POST: ${code}`), { ids: [id], times });

const noPost = failing("before", "rotate", () => new ServiceFailure("UNREACHABLE", "no route"));

describe("rotate gives every selected group a new token,", () => {
  it("even if the service can't apply the group's update, without a look at the source", async () => {
    const world = await aSyncedWorld("a", "b", "c");
    world.tenants = [...tenants("a", "c"), ...renamed(tenants("b"))];
    const at = failsAt("getOrCreate", "b");
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
      await world.sync({ at: failsAt("getOrCreate", "b") });
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
        return world.sync({ at: failsAt("remove", "b"), settings: { update: "replace" } });
      },
    ],
    [
      "deletion",
      "delete",
      (world) => {
        world.tenants = tenants("a");
        return world.sync({ at: failsAt("remove", "b") });
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
});

describe("a token that was asked for stays wanted until it is new:", () => {
  /** All are asked for, and the rotation ends after the first answer. */
  async function aStoppedRotation(): Promise<World> {
    const world = await aSyncedWorld(...IDS);
    const stop = new AbortController();
    const { error } = await world.rotate(ALL, {
      signal: stop.signal,
      at: (point) => {
        if (point.call === "rotate" && point.when === "after") stop.abort();
      },
    });
    expect(error).toMatchObject({ code: "INTERRUPTED" });
    world.service.requests.length = 0;
    return world;
  }

  const wanted = ({ ledger }: World): string[] =>
    [...ledger.rows].flatMap(([id, { wantedSince }]) => (wantedSince === null ? [] : [id]));

  it("the next sync goes on with what a stopped rotation did not reach, outside the window too", async () => {
    const world = await aStoppedRotation();
    const settings = {
      rotation: { ...DUE.rotation, window: { from: 0, to: 1, timeZone: "UTC" }, maxPerRun: 1 },
    };
    expect(await world.sync({ settings })).toMatchObject({
      outcome: "ok",
      counts: { rotated: 3, wanted: 0 },
    });
    expect(world.sent).toEqual(["POST b", "POST c", "POST d"]);
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  it("a sync of some tenants goes on with theirs alone", async () => {
    const world = await aStoppedRotation();
    expect(await world.sync({ settings: {}, only: new Set(["c"]) })).toMatchObject({
      outcome: "ok",
      counts: { rotated: 1, wanted: 0 },
    });
    expect(wanted(world)).toEqual(["b", "d"]);
  });

  it("takes turns with a backfill", async () => {
    const world = await aStoppedRotation();
    world.tenants = tenants(...IDS, "n1", "n2", "n3");
    world.network = () => world.time.sleep(40_000);
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { created: 3, rotated: 3 } });
    expect(world.sent).toEqual(["POST b", "POST c", "GET n1", "GET n2", "POST d", "GET n3"]);
  });

  it("tokens that were asked for by name come first", async () => {
    const world = await aStoppedRotation();
    await world.rotate(only("d"), { at: noPost });
    await world.sync();
    expect(world.sent).toEqual(["POST d", "POST b", "POST c"]);
  });

  it.each<[string, (world: World) => Promise<unknown>]>([
    ["the service", (world) => world.rotate(only("b"), { at: fails("SERVICE_ERROR", "before", "b", 99) })],
    [
      "the token store",
      async (world) => {
        world.store.refused.add("b");
        await world.rotate(only("b"));
        world.store.refused.clear();
      },
    ],
  ])("a sync of its tenant alone rotates it, although %s refused it before", async (_, refused) => {
    const world = await aSyncedWorld(...IDS);
    const before = world.service.tokens.get("b");
    await refused(world);
    expect(world.service.tokens.get("b")).toBe(before);
    expect(await world.sync({ only: new Set(["b"]) })).toMatchObject({
      outcome: "ok",
      counts: { rotated: 1 },
    });
    expect(world.service.tokens.get("b")).not.toBe(before);
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(world.ledger.rows.get("b")?.failures).toEqual({ change: null, rotation: null, storing: null });
  });

  it("the hint of a failure says so, and how to take it back", async () => {
    const world = await aSyncedWorld(...IDS);
    const { error } = await world.rotate(ALL, { at: noPost });
    expect(error).toMatchObject({
      code: "SERVICE_UNAVAILABLE",
      hint: expect.stringMatching(/^check service.base_url.*; .*stay wanted.* groupsync rotate --cancel/),
    });
    expect(wanted(world)).toEqual(IDS);
  });
});

describe("a sync that goes on with wanted tokens", () => {
  /** Tokens of these ids are wanted, and no call has been sent. Of all groups, unless `ids` are given. */
  async function aWorldOfWishes(ids: readonly string[] = IDS): Promise<World> {
    const world = await aSyncedWorld(...IDS);
    for (const id of ids) want(world, id);
    return world;
  }

  const want = ({ ledger, time }: World, id: string): void => {
    const record = ledger.rows.get(id);
    if (record) ledger.rows.set(id, { ...record, wantedSince: time.now() });
  };
  const posts = ({ sent }: World): string[] => sent.filter((request) => request.startsWith("POST"));

  it.each<[string, string, (point: Point) => void]>([
    ["the service lets no POST through", "SERVICE_UNAVAILABLE", noPost],
    [
      "a token store is away",
      "TOKEN_STORE_UNAVAILABLE",
      failing("before", "readTokens", () => new SyncError("TOKEN_STORE_UNAVAILABLE", "no such host")),
    ],
  ])("does all else first, and fails only then, if %s", async (_, code, at) => {
    const world = await aWorldOfWishes();
    world.tenants = tenants(...IDS, "new");
    expect(await world.sync({ at })).toMatchObject({
      outcome: "failed",
      error: { code },
      counts: { created: 1, wanted: 4 },
    });
  });

  let isFirst = false;
  it.each<[string, (point: Point) => void]>([
    ["the service can't be reached", fails("UNREACHABLE", "before", "a", 99)],
    [
      "the token store seems to be away",
      ({ call, id }) => {
        if (call === "begun" && id === "a") isFirst = true;
        if (call !== "readTokens" || !isFirst) return;
        isFirst = false;
        throw new SyncError("TOKEN_STORE_UNAVAILABLE", "it was answered HTTP 500");
      },
    ],
  ])("comes to the others, and backs off, if %s because of one group", async (_, at) => {
    const world = await aWorldOfWishes();
    const outcome = { outcome: "partial", errors: [{ user_group_id: "a" }] };
    expect(await world.sync({ at })).toMatchObject({ ...outcome, counts: { rotated: 3, wanted: 1 } });
    for (let times = 0; times < 5; times++) await world.sync({ at });
    expect(world.ledger.rows.get("a")).toMatchObject({ intent: null, failures: { rotation: { count: 3 } } });
    expect(await world.sync({ at })).toMatchObject({ ...outcome, counts: { wanted: 1 } });
  });

  it("comes to those that an outage kept from their turn, later in the same sync", async () => {
    const ids = Array.from({ length: 12 }, (_, n) => `t${String(n).padStart(2, "0")}`);
    const world = await aWorldJustSynced(ids);
    const away = () => new SyncError("TOKEN_STORE_UNAVAILABLE", "away");
    const fails = failing("before", "readTokens", away, { from: 5, times: 1 });
    world.network = async ({ id }) => world.time.sleep(Number(id.slice(1)) % 2 ? 15 : 40);
    await world.sync({
      settings: { rotation: { maxAgeMs: null, window: null, maxPerRun: null, concurrency: 2 } },
      mark: { kind: "wanted", by: "choice" },
      at: async (point) => {
        if (point.call === "commit") await world.time.sleep(7);
        if (point.call === "readTokens") await world.time.sleep(11);
        fails(point);
      },
    });
    const left = [...world.ledger.rows.values()].filter(({ wantedSince }) => wantedSince !== null);
    expect(left.map(({ failures }) => failures.rotation?.code)).toEqual(["TOKEN_STORE_UNAVAILABLE"]);
  });

  it("doesn't take the token from before for a new one", async () => {
    const world = await aWorldOfWishes(["b"]);
    const token = world.service.tokens.get("b");
    world.service.newToken = () => token ?? "";
    expect(await world.sync()).toMatchObject({
      outcome: "partial",
      counts: { rotated: 0, failed: 1, wanted: 1 },
      errors: [
        {
          user_group_id: "b",
          code: "BAD_RESPONSE",
          message: expect.stringContaining("same token as before"),
        },
      ],
    });
    expect(world.ledger.rows.get("b")).toMatchObject({ intent: null, failures: { rotation: { count: 1 } } });
    for (let times = 0; times < 5; times++) await world.sync();
    expect(world.sent).toEqual(["POST b", "POST b", "POST b"]);
  });

  it("names a group whose new token it can't ask for", async () => {
    const world = await aWorldOfWishes([]);
    world.tenants = tenants(...IDS, "new");
    world.store.refused.add("new");
    await world.sync();
    want(world, "new");
    world.tenants = tenants(...IDS);
    const deletion = { when: "never", gracePeriodMs: 0, limit: { count: 0, percent: 0 } } as const;
    expect(await world.sync({ settings: { deletion } })).toMatchObject({
      outcome: "partial",
      counts: { wanted: 1 },
      errors: [{ user_group_id: "new", code: "UNSETTLED" }],
    });
  });

  it("ends at once if the key is refused", async () => {
    const world = await aWorldOfWishes();
    world.tenants = tenants(...IDS, "new");
    const at = ({ when, call }: Point): void => {
      if (when === "before" && (call === "rotate" || call === "rotateNobody" || call === "getOrCreate"))
        throw new ServiceFailure("KEY_REFUSED", "HTTP 401");
    };
    const { instance, report } = world.start({ at });
    expect(await report).toMatchObject({ outcome: "failed", error: { code: "KEY_REFUSED" } });
    expect(instance.history("before openSource")).toEqual([]);
  });

  it("rotates no other token, by age neither, once it could not store one", async () => {
    const world = await aWorldOfWishes(["a", "b"]);
    await world.time.sleep(90 * DAY);
    const report = await world.sync({ settings: DUE, at: refusesNew(world, "a") });
    expect(posts(world)).toEqual(["POST a"]);
    expect(report).toMatchObject({ outcome: "partial", counts: { rotated: 0, failed: 1, wanted: 1 } });
  });

  it("doesn't take the token that a GET tells after a lost answer for the new one", async () => {
    const world = await aSyncedWorld("a");
    for (const [times, rotated] of [
      [1, 1],
      [2, 0],
    ] as const) {
      world.service.requests.length = 0;
      const report = await world.rotate(ALL, { at: fails("CONNECTION_LOST", "after", "a", times) });
      expect(report.counts).toMatchObject({ rotated, failed: 1 - rotated, wanted: 1 - rotated });
      expect(world.sent).toEqual(["POST a", "GET a", "POST a", ...(times === 2 ? ["GET a"] : [])]);
      expect(world.store.tokens).toEqual(world.service.tokens);
    }
    const told = world.service.tokens.get("a");
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { rotated: 1, wanted: 0 } });
    expect(world.service.tokens.get("a")).not.toBe(told);
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  it("names a group whose tenant is gone with its place for a token, and goes on no more", async () => {
    const world = await aWorldOfWishes(["a", "b"]);
    const deletion = { when: "never", gracePeriodMs: 0, limit: { count: 0, percent: 0 } } as const;
    const sync = () => world.sync({ settings: { deletion } });
    world.tenants = tenants("c", "d");
    world.store.tokens.delete("b");
    world.store.refused.add("b");
    await sync();
    expect(await sync()).toMatchObject({
      outcome: "partial",
      counts: { rotated: 0, failed: 1, wanted: 0 },
      errors: [
        { user_group_id: "b", code: "TOKEN_NOT_STORED", message: expect.stringContaining("old token") },
      ],
    });
    expect(world.sent).toEqual(["POST a", "GET b", "GET b", "GET b"]);
    expect(await sync()).toMatchObject({ outcome: "ok" });
    expect(world.ledger.rows.get("b")).toMatchObject({ intent: null, wantedSince: null });
  });

  it("sends nothing before it knows the ids that the operator named", async () => {
    const world = await aWorldOfWishes();
    expect(await world.sync({ only: new Set(["a", "A"]) })).toMatchObject({ error: { code: "UNKNOWN_ID" } });
    expect(world.sent).toEqual([]);
  });

  it("rotates none of the rest once the time for that is over", async () => {
    const world = await aWorldOfWishes();
    world.network = () => world.time.sleep(25_000);
    expect((await world.sync({ wantedMs: 40_000 })).counts).toMatchObject({ rotated: 2, wanted: 2 });
    expect((await world.sync({ wantedMs: 0 })).counts).toMatchObject({ rotated: 0, wanted: 2 });
    expect((await world.sync()).counts).toMatchObject({ rotated: 2, wanted: 0 });
  });
});

describe("the marks of a rotation", () => {
  const isMarked = ({ ledger }: World): boolean =>
    [...ledger.rows.values()].some(({ wantedSince }) => wantedSince !== null);

  it("are committed all or none, and a lost answer tells what to do", async () => {
    for (const when of ["before", "after"] as const) {
      const world = await aSyncedWorld(...IDS);
      let isMarking = false;
      const at = ({ call, when: at }: Point): void => {
        if (call === "changeAll") isMarking = true;
        if (call === "commit" && at === when && isMarking)
          throw new SyncError("LEDGER_UNAVAILABLE", "cannot write the ledger: the connection was closed");
      };
      expect(await world.rotate(ALL, { at })).toMatchObject({
        outcome: "failed",
        error: { code: "LEDGER_UNAVAILABLE", hint: expect.stringMatching(/run groupsync rotate again/) },
      });
      const marked = [...world.ledger.rows.values()].filter(({ wantedSince }) => wantedSince !== null);
      expect(marked).toHaveLength(when === "before" ? 0 : IDS.length);
      expect(world.sent).toEqual([]);
    }
  });

  it("are taken back although a token store is away", async () => {
    const world = await aSyncedWorld(...IDS);
    const record = world.ledger.rows.get("a");
    if (record) world.ledger.rows.set("a", { ...record, wantedSince: new Date(0) });
    const at = ({ call }: Point): void => {
      if (/token/i.test(call)) throw new SyncError("TOKEN_STORE_UNAVAILABLE", "no such host");
    };
    expect(await world.cancelRotations(undefined, { at })).toMatchObject({ outcome: "ok" });
    expect(isMarked(world)).toBe(false);
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

it("a wanted token is rotated once, although its group is listed again while its rotation goes on", async () => {
  const ids = Array.from({ length: 502 }, (_, n) => `t${String(n).padStart(3, "0")}`);
  const world = await aSyncedWorld(...ids);
  const now = world.time.now();
  // The rotation of the first one has failed, and its next try is not due.
  const failure = {
    code: "REFUSED",
    message: "",
    count: 3,
    since: now,
    retryAt: new Date(now.getTime() + 60_000),
  };
  for (const [id, row] of world.ledger.rows) {
    const failures = { ...row.failures, rotation: id === "t000" ? failure : null };
    world.ledger.rows.set(id, { ...row, wantedSince: now, wantedBy: "choice", failures });
  }
  // The last one of the first page. A GET tells another token than the ledger knows, and so it comes last in the list.
  const last = "t499";
  Object.assign(world.service.groups.get(last) ?? {}, { token: world.service.newToken(last) });
  world.store.tokens.delete(last);
  const pauses: Record<string, number> = { t498: 1_000, [last]: 10_000, t500: 20_000 };
  world.network = ({ operation, id }) => world.time.sleep(operation === "POST" ? (pauses[id] ?? 0) : 0);
  const rotation = { maxAgeMs: null, window: null, maxPerRun: null, concurrency: 2 };
  expect(await world.sync({ settings: { rotation } })).toMatchObject({ counts: { rotated: 501, wanted: 1 } });
  expect(world.sent.filter((sent) => sent === `POST ${last}`)).toHaveLength(1);
});

it("a token that the service refuses is asked for until a GET returns the live token", async () => {
  const world = new World(tenants("a", "b"));
  await world.sync();
  const meddled = world.service.groups.get("a");
  if (meddled) meddled.token = world.service.newToken("a");
  const refused = failsAt("getOrCreate", "a");
  expect(await world.startRotation(ALL, { at: refused }).report).toMatchObject({ counts: { failed: 1 } });
  await world.time.sleep(DAY);
  expect(await world.sync({ at: refused })).toMatchObject({ outcome: "partial" });
  await world.time.sleep(DAY);
  expect(await world.sync()).toMatchObject({ outcome: "ok" });
  expect(world.store.tokens).toEqual(world.service.tokens);
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

it.each([null, 900 * DAY])(
  "a rotation that failed isn't owed once max_age is %s: no sync tries it again",
  async (maxAgeMs) => {
    const world = await aWorldJustSynced(["a"]);
    await world.time.sleep(91 * DAY);
    expect((await world.sync({ settings: DUE, at: failsAt("rotate", "a") })).outcome).toBe("partial");
    const settings = { rotation: { ...DUE.rotation, maxAgeMs } };
    expect(await world.sync({ settings })).toMatchObject({ outcome: "ok", counts: { rotated: 0 } });
  },
);
