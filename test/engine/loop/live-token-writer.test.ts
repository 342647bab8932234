import { describe, expect, it, test } from "vitest";
import { NO_FAILURES } from "../../../src/core/failure/group-failures.ts";
import { ServiceFailure } from "../../../src/core/failure/service-failure.ts";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import type { HeldLease } from "../../../src/engine/lease/lease.ts";
import { LiveTokenWriter } from "../../../src/engine/loop/live-token-writer.ts";
import type { RotationSelection } from "../../../src/engine/rotate.ts";
import type { Ledger } from "../../../src/ports/ledger/ledger.ts";
import { Instance, type Point } from "../../fakes/instance.ts";
import { expectBoth, synced, TwoStores } from "../../fakes/two-stores.ts";
import { VirtualClock } from "../../fakes/virtual-time.ts";
import { aSyncedWorld, ended, refusesNew, type StartOptions, tenants, World } from "../../fakes/world.ts";

const TOKEN = { user_group_id: "a", token: new Secret("new") };

/** A writer whose lease may be lost. */
async function aTokenWriter(assertHeld: HeldLease["assertHeld"] = () => {}) {
  const world = new World();
  const clock = new VirtualClock(world.time);
  const { ledger, tokens } = world.ports(new Instance(), clock);
  const attempt = await ledger.acquireLease("this", 3_600_000);
  if (attempt.kind !== "acquired") throw new Error("it is nobody's");
  const lease: HeldLease = {
    ...attempt.lease,
    lost: new AbortController().signal,
    assertHeld,
    unsureUntil: null,
    wanted: new AbortController().signal,
    awaitAlways: (task) => task,
    formerCallsEnded: async () => {},
    takeRequests: () => () => {},
  };
  const seen: string[] = [];
  const writer = new LiveTokenWriter({
    ledger: {
      sharedTokens: async () => new Set(),
      write: (held, body) => ledger.write(held, body),
    } as Partial<Ledger> as Ledger,
    tokens,
    lease,
    clock,
    signal: new AbortController().signal,
    observe: (event) => seen.push(event.kind),
    storing: new Map(),
  });
  return { writer, seen, tokens: world.store.tokens };
}

const MINUTE = 60_000;

const IDS = ["a", "b", "c", "d"];

const DAY = 86_400_000;

const ALL: RotationSelection = { kind: "all" };

const DUE: StartOptions["settings"] = {
  rotation: { maxAgeMs: 90 * DAY, window: null, maxPerRun: null, concurrency: 1 },
};

test.each(["LEASE_LOST", "LEDGER_REWOUND"])(
  "a token is not put into a store, and not tried again, if the lease has ended with %s right before",
  async (code) => {
    const { writer, seen, tokens } = await aTokenWriter(() => {
      throw new SyncError(code, "it says why");
    });
    await expect(writer.store(TOKEN, async () => {})).rejects.toMatchObject({ code });
    expect(tokens.size).toBe(0);
    expect(seen).toEqual([]);
  },
);

test("once the ledger has gone back in time, the record of a token is not tried again", async () => {
  const { writer, seen } = await aTokenWriter();
  const record = async (): Promise<never> => {
    throw new SyncError("LEDGER_REWOUND", "it went back");
  };
  await expect(writer.store(TOKEN, record)).rejects.toMatchObject({ code: "LEDGER_REWOUND" });
  expect(seen).toEqual([]);
});

test("a token that one of several stores refuses is not rotated, and all other tokens are", async () => {
  const world = new TwoStores(tenants("a", "b", "c"));
  world.second.refused.add("b");
  expect(await world.sync()).toMatchObject({ outcome: "partial" });
  const before = world.service.tokens.get("b");
  expect(await world.startRotation({ kind: "all" }).report).toMatchObject({
    outcome: "partial",
    counts: { rotated: 2, failed: 1 },
    errors: [{ user_group_id: "b", code: "TOKEN_NOT_EVERYWHERE" }],
  });
  expect(world.service.tokens.get("b")).toBe(before);
  expect(world.store.tokens).toEqual(world.service.tokens);

  world.second.refused.clear();
  await world.time.sleep(10 * 60_000);
  expect(await world.sync()).toMatchObject({ outcome: "ok" });
  expectBoth(world);
});

describe("a store that fails after a token was rotated", () => {
  test("doesn't keep another store from taking the new token", async () => {
    const world = await synced("a");
    let isAway = false;
    const at = ({ when, call, store }: Point): void => {
      if (call === "rotate") isAway = true;
      if (isAway && when === "before" && call === "writeTokens" && store === 1)
        throw new SyncError("TOKEN_STORE_UNAVAILABLE", "cannot write Vault: it is sealed");
    };
    const { report, events } = world.startRotation({ kind: "all" }, { at });
    await world.time.sleep(MINUTE);
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(world.second.tokens).not.toEqual(world.service.tokens);
    expect(events).toContainEqual(
      expect.objectContaining({ kind: "unstored", code: "TOKEN_STORE_UNAVAILABLE" }),
    );
    isAway = false;
    expect(await report).toMatchObject({ outcome: "ok", counts: { rotated: 1 } });
    expectBoth(world);
  });

  test("doesn't delay a token table in the ledger's database, however long the store takes to fail", async () => {
    const world = await synced("a");
    world.store.sharesLedger = true;
    let rotatedAt: number | undefined;
    const at = async ({ when, call, store }: Point): Promise<void> => {
      if (call === "rotate") rotatedAt = world.time.elapsed;
      if (rotatedAt === undefined || when !== "before" || call !== "writeTokens" || store !== 1) return;
      if (world.time.elapsed - rotatedAt > MINUTE) return;
      await world.time.sleep(25_000);
      throw new SyncError("TOKEN_STORE_UNAVAILABLE", "cannot write Vault: no answer");
    };
    const { report } = world.startRotation({ kind: "all" }, { at });
    await world.time.sleep(1_000);
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(await report).toMatchObject({ outcome: "ok", counts: { rotated: 1 } });
    expectBoth(world);
  });
});

describe("before each POST, the store has to take a token of this group:", () => {
  it("if the store refuses its row, no POST is sent and the old token stays live", async () => {
    const world = await aSyncedWorld(IDS);
    world.store.refused.add("c");
    const before = world.service.tokens;
    expect(await world.rotate()).toMatchObject({
      outcome: "partial",
      counts: { rotated: 3, failed: 1 },
      errors: [{ user_group_id: "c", code: "TOKEN_NOT_STORED", message: "no room for it" }],
    });
    expect(world.sent).toEqual(["POST a", "POST b", "POST d"]);
    expect(world.service.tokens.get("c")).toBe(before.get("c"));
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(world.ledger.rows.get("c")?.intent).toBeNull();
    // That its present token is stored doesn't end the failure.
    const code = "TOKEN_NOT_STORED";
    for (const count of [2, 3, 3]) {
      expect(await world.sync()).toMatchObject({ outcome: "partial", counts: { wanted: 1, failed: 1 } });
      expect(world.ledger.rows.get("c")?.failures.rotation).toMatchObject({ code, count });
    }
  });

  it("if its live token isn't stored and can't be stored, the next sync asks for it", async () => {
    const world = await aSyncedWorld(IDS);
    world.store.tokens.delete("c");
    world.store.refused.add("c");
    expect((await world.rotate()).errors).toMatchObject([{ user_group_id: "c" }]);
    world.store.refused.delete("c");
    await world.time.sleep(MINUTE);
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  it.each([
    ["is the live one", "rotation"],
    ["is not there", "storing"],
  ] as const)("if its row breaks the transaction, it fails alone: its stored token %s", async (_, kind) => {
    const world = await aSyncedWorld(IDS);
    world.store.sharesLedger = true;
    if (kind === "storing") world.store.tokens.delete("b");
    world.store.breaks.add("b");
    const before = world.service.tokens;
    expect(await world.rotate()).toMatchObject({
      outcome: "partial",
      counts: { rotated: 3, failed: 1 },
      errors: [{ user_group_id: "b", code: "TOKEN_NOT_STORED", message: "the transaction is gone" }],
      error: undefined,
    });
    expect(world.service.tokens.get("b")).toBe(before.get("b"));
    expect(world.ledger.rows.get("b")?.failures[kind]).toMatchObject({ code: "TOKEN_NOT_STORED" });
    world.store.breaks.clear();
    await world.time.sleep(MINUTE);
    await world.sync();
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(world.ledger.rows.get("b")).toMatchObject({ intent: null, failures: NO_FAILURES });
  });
});

describe("a new token that can't be stored", () => {
  it("is tried for a minute; then its rotation stays open, no other rotation begins, and all others are reported", async () => {
    const world = await aSyncedWorld(IDS);
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
    expect(world.sent).toEqual(["POST a", "POST b"]);
    expect(started.events.filter(({ kind }) => kind === "unstored").length).toBeGreaterThan(5);
    expect(world.ledger.rows.get("b")).toMatchObject({
      intent: "rotate",
      failures: { storing: { code: "NEW_TOKEN_NOT_STORED" } },
    });
    expect(world.ledger.rows.get("c")).toMatchObject({ intent: null, failures: NO_FAILURES });
  });

  it("is asked for by the next syncs with growing delays, and they serve all others", async () => {
    const world = await aSyncedWorld(IDS);
    await world.rotate(ALL, { at: refusesNew(world, "b") });
    world.tenants = tenants(...IDS, "new");
    world.service.requests.length = 0;
    expect(await world.sync()).toMatchObject({
      outcome: "partial",
      counts: { created: 1, failed: 1 },
      errors: [{ user_group_id: "b", code: "TOKEN_NOT_STORED" }],
    });
    expect(world.sent).toContain("GET b");
    for (let times = 0; times < 5; times++) await world.sync();
    const asked = world.sent.filter((request) => request === "GET b");
    expect(asked.length).toBeLessThanOrEqual(3);

    world.store.refused.clear();
    await world.time.sleep(DAY);
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(await world.rotate()).toMatchObject({ outcome: "ok", counts: { rotated: 5 } });
  });

  it("ends the rotations of a sync, but not the sync; the other due rotations wait for the next sync", async () => {
    const world = await aSyncedWorld(IDS);
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

  it("is tried for ten seconds at most once the run is told to stop", async () => {
    const world = await aSyncedWorld(IDS);
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
    expect(world.sent).toEqual(["POST a"]);
  });
});

describe("a live token that a GET returned and that no store has", () => {
  it.each<[string, boolean]>([
    ["a plain refusal", true],
    ["a limit", false],
  ])("is asked for by the next sync if its POST ends in %s and the GET fails", async (_, isRefused) => {
    const world = await aSyncedWorld(IDS);
    let posts = 0;
    const at = ({ when, call, id }: Point): void => {
      if (when !== "before" || id !== "b") return;
      if (call === "rotate" && ++posts === 1) {
        // Another program makes another token.
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
    const report = await world.rotate(selection, { at });
    expect(report.counts).toMatchObject({ rotated: 0, failed: 1 });
    expect(world.ledger.rows.get("b")?.intent).toBe("rotate");
    await world.time.sleep(DAY);
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expect(world.store.tokens).toEqual(world.service.tokens);
  });
});

test("a token is not rotated if its store takes the proof and keeps something else, which stays known", async () => {
  const world = await aSyncedWorld(["a"]);
  const { report } = world.startRotation(ALL, {
    at: ({ when, call }) => {
      if (when === "after" && call === "writeTokens")
        world.store.tokens.set("a", "what a trigger makes of it");
    },
  });
  expect(await report).toMatchObject({
    outcome: "partial",
    errors: [{ user_group_id: "a", code: "TOKEN_NOT_STORED", message: expect.stringContaining("read back") }],
  });
  expect(world.sent).toEqual([]);
  await world.cancelRotations();
  await world.time.sleep(DAY);
  expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { restored: 1 } });
  expect(world.store.tokens).toEqual(world.service.tokens);
});
