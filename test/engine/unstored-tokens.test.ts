import { describe, expect, it, test } from "vitest";
import { SyncError } from "../../src/core/errors.ts";
import { UNKNOWN_STATE } from "../../src/core/ledger-group.ts";
import { ServiceFailure } from "../../src/core/service-failure.ts";
import type { RunReport } from "../../src/engine/report.ts";
import type { RotationSelection } from "../../src/engine/rotation-selection.ts";
import type { Point } from "../fakes/instance.ts";
import { type StartOptions, tenants, World } from "../fakes/world.ts";

const IDS = ["a", "b", "c", "d"];
const MINUTE = 60_000;
const DAY = 86_400_000;
const ALL: RotationSelection = { kind: "all" };
const DUE: StartOptions["settings"] = {
  rotation: { maxAgeMs: 90 * DAY, window: null, maxPerRun: null, concurrency: 1 },
};

async function aSyncedWorld(): Promise<World> {
  const world = new World(tenants(...IDS));
  await world.sync();
  world.service.requests.length = 0;
  return world;
}

/** The store takes these tokens as they are, and refuses the next ones. */
const refusesNew =
  (world: World, ...ids: string[]) =>
  ({ when, call, id }: Point): void => {
    if (when === "after" && call === "rotate" && ids.includes(id ?? "")) world.store.refused.add(id ?? "");
  };

const ended = async (started: ReturnType<World["start"]>): Promise<RunReport> => {
  const report = await started.report;
  if (report === "died") throw new Error("it died");
  return report;
};

const requests = (world: World): string[] =>
  world.service.requests.map(({ operation, id }) => `${operation} ${id}`);

describe("the store is asked before each POST whether it takes a token of this very tenant:", () => {
  it("one whose row is refused is not sent, and its old token stays good", async () => {
    const world = await aSyncedWorld();
    world.store.refused.add("c");
    const before = world.service.tokens;
    expect(await ended(world.startRotation(ALL))).toMatchObject({
      outcome: "partial",
      counts: { rotated: 3, failed: 1 },
      errors: [{ user_group_id: "c", code: "TOKEN_NOT_STORED", message: "no room for it" }],
    });
    expect(requests(world)).toEqual(["POST a", "POST b", "POST d"]);
    expect(world.service.tokens.get("c")).toBe(before.get("c"));
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(world.ledger.rows.get("c")?.intent).toBeNull();
  });

  it("one whose live token isn't stored, and can't be, is asked for by the next sync", async () => {
    const world = await aSyncedWorld();
    world.store.tokens.delete("c");
    world.store.refused.add("c");
    expect((await ended(world.startRotation(ALL))).errors).toMatchObject([{ user_group_id: "c" }]);
    world.store.refused.delete("c");
    await world.time.sleep(MINUTE);
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  it.each([
    ["is the live one", (): void => {}],
    ["isn't", (world: World) => void world.store.tokens.delete("b")],
  ])("one over whose row a transaction is lost fails alone, where its stored token %s", async (_, change) => {
    const world = await aSyncedWorld();
    change(world);
    world.store.breaks.add("b");
    const before = world.service.tokens;
    expect(await ended(world.startRotation(ALL))).toMatchObject({
      outcome: "partial",
      counts: { rotated: 3, failed: 1 },
      errors: [{ user_group_id: "b", code: "TOKEN_NOT_STORED", message: "the transaction is gone" }],
      error: undefined,
    });
    expect(world.service.tokens.get("b")).toBe(before.get("b"));
    expect(world.ledger.rows.get("b")?.failure).toMatchObject({ code: "TOKEN_NOT_STORED" });
    world.store.breaks.clear();
    await world.time.sleep(MINUTE);
    await world.sync();
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(world.ledger.rows.get("b")?.intent).toBeNull();
  });

  it("with the intent, in one transaction", async () => {
    const world = await aSyncedWorld();
    world.store.sharesLedger = true;
    const { instance, report } = world.startRotation({ kind: "only", ids: new Set(["a"]) });
    await report;
    const history = instance.history(
      "before beginRotation",
      "before writeTokens",
      "before commit",
      "before rotate",
    );
    const from = history.indexOf("before beginRotation a");
    expect(history.slice(from, from + 4)).toEqual([
      "before beginRotation a",
      "before writeTokens",
      "before commit",
      "before rotate a",
    ]);
  });
});

describe("a new token that can't be stored", () => {
  it("is tried for a minute; then its rotation is open, no other one begins, and all others are named", async () => {
    const world = await aSyncedWorld();
    const started = world.startRotation(ALL, { at: refusesNew(world, "b") });
    const begun = world.time.elapsed;
    const report = await ended(started);
    const took = world.time.elapsed - begun;
    expect(took).toBeGreaterThanOrEqual(MINUTE);
    expect(took).toBeLessThan(2 * MINUTE);
    expect(report).toMatchObject({ outcome: "partial", counts: { rotated: 1, failed: 3 } });
    expect(report.errors).toEqual([
      {
        user_group_id: "b",
        code: "NEW_TOKEN_NOT_STORED",
        message: expect.stringContaining("no room for it"),
      },
      { user_group_id: "c", code: "NOT_ROTATED", message: expect.any(String) },
      { user_group_id: "d", code: "NOT_ROTATED", message: expect.any(String) },
    ]);
    expect(requests(world)).toEqual(["POST a", "POST b"]);
    expect(started.events.filter(({ kind }) => kind === "unstored").length).toBeGreaterThan(5);
    expect(world.ledger.rows.get("b")).toMatchObject({
      intent: "rotate",
      failure: { code: "NEW_TOKEN_NOT_STORED" },
    });
    expect(world.ledger.rows.get("c")).toMatchObject({ intent: null, failure: null });
  });

  it("keeps nobody waiting: the next syncs ask for it, less and less often, and serve all others", async () => {
    const world = await aSyncedWorld();
    await ended(world.startRotation(ALL, { at: refusesNew(world, "b") }));
    world.tenants = tenants(...IDS, "new");
    world.service.requests.length = 0;
    expect(await world.sync()).toMatchObject({
      outcome: "partial",
      counts: { created: 1, failed: 1 },
      errors: [{ user_group_id: "b", code: "TOKEN_NOT_STORED" }],
    });
    expect(requests(world)).toContain("GET b");
    for (let times = 0; times < 5; times++) await world.sync();
    const asked = requests(world).filter((request) => request === "GET b");
    expect(asked.length).toBeLessThanOrEqual(3);

    world.store.refused.clear();
    await world.time.sleep(DAY);
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(await ended(world.startRotation(ALL))).toMatchObject({ outcome: "ok", counts: { rotated: 5 } });
  });

  it.each<[string, (world: World) => void]>([
    [
      "rejected",
      (world) => {
        world.tenants = [...tenants("a", "c", "d"), { id: "b", name: null, plan: "gold" }];
      },
    ],
    [
      "gone",
      (world) => {
        world.tenants = tenants("a", "c", "d");
      },
    ],
  ])("is asked for and stored by a sync also where its row is %s by then", async (_, change) => {
    const world = await aSyncedWorld();
    const settings = {
      deletion: { when: "never", gracePeriodMs: 0, limit: { count: 0, percent: 0 } },
    } as const;
    await ended(world.startRotation(ALL, { at: refusesNew(world, "b") }));
    change(world);
    const refused = await world.sync({ settings });
    expect(refused.errors).toContainEqual(
      expect.objectContaining({ user_group_id: "b", code: "TOKEN_NOT_STORED" }),
    );
    world.service.requests.length = 0;
    for (let times = 0; times < 5; times++) await world.sync({ settings });
    expect(requests(world).length).toBeLessThanOrEqual(2);

    world.store.refused.clear();
    await world.time.sleep(DAY);
    expect((await world.sync({ settings })).counts.failed).toBe(0);
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(world.ledger.rows.get("b")).toMatchObject({ intent: null, failure: null });
    world.service.requests.length = 0;
    await world.sync({ settings });
    expect(requests(world)).toEqual([]);
  });

  it("is tried once more at the end of the run", async () => {
    const world = await aSyncedWorld();
    const at = (point: Point): void => {
      refusesNew(world, "b")(point);
      // What comes of its minute is being recorded.
      if (point.call === "recordRotation" && point.id === "b") world.store.refused.clear();
    };
    const report = await ended(world.startRotation({ kind: "only", ids: new Set(["a", "b"]) }, { at }));
    expect(report).toMatchObject({ outcome: "ok", counts: { rotated: 2, failed: 0 } });
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(world.ledger.rows.get("b")).toMatchObject({ intent: null, failure: null });
  });

  it("is tried once more also where an earlier one of them can't be recorded", async () => {
    const world = await aSyncedWorld();
    const refuses = refusesNew(world, "a", "b");
    const recorded: string[] = [];
    const at = (point: Point): void => {
      refuses(point);
      if (point.call !== "recordRotation") return;
      recorded.push(point.id ?? "");
      if (recorded.length < 2) return;
      // Both are given up.
      if (recorded.length === 2) world.store.refused.clear();
      else if (point.id === recorded[2])
        throw new SyncError("LEDGER_UNAVAILABLE", "it is gone", { hint: "wait" });
    };
    const settings = { rotation: { maxAgeMs: null, window: null, maxPerRun: null, concurrency: 2 } };
    const report = await ended(
      world.startRotation({ kind: "only", ids: new Set(["a", "b"]) }, { at, settings }),
    );
    expect(report).toMatchObject({ outcome: "failed", error: { code: "LEDGER_UNAVAILABLE" } });
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  it("ends the rotations of a sync, and not the sync; those that were due wait for the next one", async () => {
    const world = await aSyncedWorld();
    await world.time.sleep(90 * DAY);
    const started = world.start({ settings: DUE, at: refusesNew(world, "b") });
    const report = await ended(started);
    expect(report).toMatchObject({
      outcome: "partial",
      counts: { rotated: 1, failed: 1 },
      error: undefined,
    });
    expect(report.errors).toMatchObject([{ user_group_id: "b", code: "NEW_TOKEN_NOT_STORED" }]);
    world.store.refused.clear();
    expect(await world.sync({ settings: DUE })).toMatchObject({ outcome: "ok", counts: { rotated: 2 } });
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  it("is not tried for long once the run is told to stop", async () => {
    const world = await aSyncedWorld();
    const stop = new AbortController();
    const started = world.startRotation(ALL, { at: refusesNew(world, "a"), signal: stop.signal });
    await world.time.sleep(20_000);
    const told = world.time.elapsed;
    stop.abort();
    const report = await ended(started);
    expect(world.time.elapsed - told).toBeLessThanOrEqual(15_000);
    expect(report).toMatchObject({ outcome: "failed", error: { code: "INTERRUPTED" } });
    expect(report.errors).toContainEqual(
      expect.objectContaining({ user_group_id: "a", code: "NEW_TOKEN_NOT_STORED" }),
    );
    expect(world.ledger.rows.get("a")?.intent).toBe("rotate");
    expect(requests(world)).toEqual(["POST a"]);
  });
});

describe("a live token that a GET has told and that is stored nowhere", () => {
  it.each<[string, boolean]>([
    ["a plain refusal", true],
    ["a limit", false],
  ])("is asked for by the next sync where its POST ends in %s and the GET fails", async (_, isRefused) => {
    const world = await aSyncedWorld();
    let posts = 0;
    const at = ({ when, call, id }: Point): void => {
      if (when !== "before" || id !== "b") return;
      if (call === "rotate" && ++posts === 1) {
        // Somebody else makes another one.
        const held = world.service.groups.get("b");
        if (held) held.token = world.service.newToken("b");
      } else if (call === "rotate")
        throw isRefused
          ? new ServiceFailure("REFUSED", "POST was answered HTTP 400")
          : new ServiceFailure("THROTTLED", "POST was answered HTTP 429");
      else if (call === "getOrCreate" && posts > 1)
        throw new ServiceFailure("SERVICE_ERROR", "GET was answered HTTP 501");
    };
    const selection: RotationSelection = { kind: "only", ids: new Set(["b"]) };
    const report = await ended(world.startRotation(selection, { at }));
    expect(report.counts).toMatchObject({ rotated: 0, failed: 1 });
    expect(world.ledger.rows.get("b")?.intent).toBe("rotate");
    await world.time.sleep(DAY);
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expect(world.store.tokens).toEqual(world.service.tokens);
  });
});

test("of a group that can't be asked for its token because nobody knows its state, a sync says so", async () => {
  const world = await aSyncedWorld();
  const row = world.ledger.rows.get("b");
  if (row)
    world.ledger.rows.set("b", { ...row, confirmed: null, fingerprint: UNKNOWN_STATE, intent: "rotate" });
  world.tenants = [...tenants("a", "c", "d"), { id: "b", name: null, plan: "gold" }];
  for (let times = 0; times < 2; times++) {
    const report = await world.sync();
    expect(report.errors).toContainEqual({
      user_group_id: "b",
      code: "UNSETTLED",
      message: expect.stringContaining("its row is rejected or gone"),
    });
    expect(report.counts.failed).toBe(1);
  }
  expect(requests(world)).toEqual([]);
  expect(world.ledger.rows.get("b")?.intent).toBe("rotate");
});

describe("a group that a sync has asked for its token in vain is not asked again for a rotation that is due,", () => {
  const refusesGet = ({ when, call, id }: Point): void => {
    if (when === "before" && call === "getOrCreate" && id === "b")
      throw new ServiceFailure("REFUSED", "GET was answered HTTP 422");
  };
  const rejectB = (world: World): void => {
    world.tenants = [...tenants("a", "c", "d"), { id: "b", name: null, plan: "gold" }];
  };
  const due = { rotation: { maxAgeMs: DAY, window: null, maxPerRun: null, concurrency: 1 } } as const;

  /** A rotation of b is under way, all tokens are to be rotated, and the row of b is rejected. */
  async function anOpenRotation(): Promise<World> {
    const world = await aSyncedWorld();
    await ended(world.startRotation({ kind: "only", ids: new Set(["b"]) }, { at: refusesNew(world, "b") }));
    world.store.refused.clear();
    await world.time.sleep(2 * DAY);
    rejectB(world);
    world.service.requests.length = 0;
    return world;
  }

  /** One entry of b, beside its row's: nothing in it is said twice. */
  function expectOnce(report: RunReport): void {
    const ofB = report.errors.filter(
      ({ user_group_id, code }) => user_group_id === "b" && code !== "VALUE_NULL",
    );
    expect(report.counts.failed).toBe(1);
    expect(ofB).toHaveLength(1);
    expect(ofB[0]?.message.split("; ")).toHaveLength(1);
  }

  const askedForB = async (world: World, options: StartOptions): Promise<[number, RunReport]> => {
    let asked = 0;
    const report = await world.sync({
      ...options,
      at: (point) => {
        if (point.when === "before" && ["getOrCreate", "rotate"].includes(point.call) && point.id === "b")
          asked++;
        refusesGet(point);
      },
    });
    return [asked, report];
  };

  test("be it one that was under way", async () => {
    const world = await anOpenRotation();
    const [asked, report] = await askedForB(world, { settings: due });
    expect(asked).toBe(1);
    expectOnce(report);
    expect(report.counts.rotated).toBe(3);
  });

  test("nor told twice while it waits for its next try", async () => {
    const world = await anOpenRotation();
    // Only from the third failure on is there a wait.
    for (let times = 0; times < 2; times++) await askedForB(world, { settings: due });
    const [asked, report] = await askedForB(world, { settings: due });
    expect(asked).toBe(0);
    expectOnce(report);
  });

  test("be it one under way whose last failure was another change's", async () => {
    const world = await anOpenRotation();
    const row = world.ledger.rows.get("b");
    const failure = {
      fingerprint: "of an update",
      code: "REFUSED",
      message: "no",
      count: 1,
      retryAt: new Date(0),
    };
    if (row) world.ledger.rows.set("b", { ...row, failure });
    const [asked, report] = await askedForB(world, { settings: due });
    expect(asked).toBe(1);
    expectOnce(report);
  });

  test("be it one whose token a store has lost", async () => {
    const world = await aSyncedWorld();
    await world.time.sleep(2 * DAY);
    world.store.tokens.delete("b");
    const [asked, report] = await askedForB(world, { settings: due, verifyTokens: true });
    expect(asked).toBe(1);
    expectOnce(report);
    expect(report.counts.rotated).toBe(3);
  });
});
