import { describe, expect, it } from "vitest";
import { parseDailyWindow } from "../../src/core/daily-window.ts";
import { tokenFingerprint } from "../../src/core/group.ts";
import type { RotationPolicy } from "../../src/core/rotation.ts";
import { Secret } from "../../src/core/secret.ts";
import { ServiceFailure, type ServiceFailureCode } from "../../src/core/service-failure.ts";
import type { RunReport } from "../../src/engine/report.ts";
import type { RotationSelection } from "../../src/engine/rotation-selection.ts";
import type { Point } from "../fakes/instance.ts";
import { type StartOptions, tenants, World } from "../fakes/world.ts";

const IDS = ["a", "b", "c", "d"];
const DAY = 86_400_000;
const ALL: RotationSelection = { kind: "all" };

async function aSyncedWorld(): Promise<World> {
  const world = new World(tenants(...IDS));
  await world.sync();
  world.service.requests.length = 0;
  return world;
}

async function rotate(world: World, selection = ALL, options: StartOptions = {}): Promise<RunReport> {
  const report = await world.startRotation(selection, options).report;
  if (report === "died") throw new Error("it died");
  return report;
}

const only = (...ids: string[]): RotationSelection => ({ kind: "only", ids: new Set(ids) });
const requests = (world: World): string[] =>
  world.service.requests.map(({ operation, id }) => `${operation} ${id}`);
const policy = (overrides: Partial<RotationPolicy>): { rotation: RotationPolicy } => ({
  rotation: { maxAgeMs: 90 * DAY, window: null, maxPerRun: null, concurrency: 1, ...overrides },
});
const fails =
  (code: ServiceFailureCode, when: Point["when"], id: string, times = 1) =>
  (point: Point): void => {
    if (point.call === "rotate" && point.when === when && point.id === id && times-- > 0) {
      throw new ServiceFailure(code, `POST: ${code}`);
    }
  };

describe("a rotation", () => {
  it("gives every group a new token with one request, and the application gets it", async () => {
    const world = await aSyncedWorld();
    const before = world.service.tokens;
    const report = await rotate(world);
    expect(report).toMatchObject({ outcome: "ok", counts: { rotated: 4 }, requests: 4 });
    expect(requests(world)).toEqual(["POST a", "POST b", "POST c", "POST d"]);
    expect(world.store.tokens).toEqual(world.service.tokens);
    for (const [id, token] of before) expect(world.service.tokens.get(id)).not.toBe(token);
    expect(await world.sync()).toMatchObject({ outcome: "ok", requests: 0 });
  });

  it("keeps which token was live when, by its fingerprint", async () => {
    const world = await aSyncedWorld();
    const made = world.time.now();
    const former = tokenFingerprint(new Secret(world.service.tokens.get("a") ?? ""));
    await world.time.sleep(DAY);
    await rotate(world, only("a"));
    expect(world.ledger.formerTokens).toMatchObject([
      { user_group_id: "a", fingerprint: former, since: made },
    ]);
    expect(world.ledger.rows.get("a")).toMatchObject({
      tokenFingerprint: tokenFingerprint(new Secret(world.service.tokens.get("a") ?? "")),
      tokenSince: world.ledger.formerTokens[0]?.until,
    });
  });

  it("has nothing sent before a write and a read-back have proved the store", async () => {
    const world = await aSyncedWorld();
    for (const id of IDS) world.store.refused.add(id);
    const report = await rotate(world);
    expect(report).toMatchObject({ outcome: "partial", counts: { rotated: 0, failed: 4 } });
    expect(world.ledger.rows.get("a")?.failure).toMatchObject({
      code: "TOKEN_NOT_STORED",
      message: expect.any(String),
    });
    expect(requests(world)).toEqual([]);
    expect([...world.ledger.rows.values()].map(({ intent }) => intent)).toEqual([null, null, null, null]);
  });

  it.each<[string, (world: World) => void, string[]]>([
    ["the store lost the token", (world) => world.store.tokens.delete("a"), ["GET a", "POST a"]],
    [
      "somebody else rotated it",
      (world) => {
        const held = world.service.groups.get("a");
        if (held) held.token = "another";
      },
      ["POST a", "GET a", "POST a"],
    ],
    [
      "somebody else rotated it, and stored the new one",
      (world) => {
        const held = world.service.groups.get("a");
        if (held) held.token = "another";
        world.store.tokens.set("a", "another");
      },
      ["GET a", "POST a"],
    ],
    [
      "the token of another group stands in its place",
      (world) => world.store.tokens.set("a", world.store.tokens.get("b") ?? ""),
      ["GET a", "POST a"],
    ],
    ["the group is gone", (world) => world.service.groups.delete("a"), ["POST a", "GET a"]],
  ])("ends with the live token stored where %s", async (_, change, sent) => {
    const world = await aSyncedWorld();
    const former = world.service.tokens.get("a");
    change(world);
    expect(await rotate(world, only("a"))).toMatchObject({ outcome: "ok", counts: { rotated: 1 } });
    expect(requests(world)).toEqual(sent);
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(world.service.tokens.get("a")).not.toBe(former);
  });

  it.each<[string, Point["when"], ServiceFailureCode, number]>([
    ["is done where only the answer was lost", "after", "CONNECTION_LOST", 1],
    ["is done where the answer can't be read", "after", "BAD_RESPONSE", 1],
    ["is still due where the request was lost", "before", "CONNECTION_LOST", 0],
    ["is still due where the service failed", "before", "SERVICE_ERROR", 0],
  ])("%s, and is never sent twice blindly", async (_, when, code, rotated) => {
    const world = await aSyncedWorld();
    const report = await rotate(world, only("a"), { at: fails(code, when, "a") });
    expect(report.counts).toMatchObject({ rotated, failed: 1 - rotated });
    expect(requests(world).filter((request) => request === "POST a").length).toBeLessThanOrEqual(1);
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  it("that the service refuses has failed, and costs nobody else anything", async () => {
    const world = await aSyncedWorld();
    const report = await rotate(world, ALL, { at: fails("REFUSED", "before", "b", 9) });
    expect(report).toMatchObject({ outcome: "partial", counts: { rotated: 3, failed: 1 } });
    expect(report.errors).toEqual([{ user_group_id: "b", code: "REFUSED", message: "POST: REFUSED" }]);
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  it.each([1, 3])(
    "that the store refuses halfway holds all others back, and is stored once it accepts again (%i at once)",
    async (concurrency) => {
      const world = await aSyncedWorld();
      const settings = policy({ concurrency });
      let posted = 0;
      let isFull = true;
      const at = ({ when, call }: Point): void => {
        if (when !== "after" || call !== "rotate") return;
        posted++;
        if (isFull) for (const id of IDS) world.store.refused.add(id);
      };
      const { report, events } = world.startRotation(ALL, { settings, at });
      await world.time.sleep(50_000);
      const unstored = IDS.filter((id) => world.store.tokens.get(id) !== world.service.tokens.get(id));
      expect(posted).toBeLessThanOrEqual(concurrency);
      expect(unstored).toHaveLength(posted);
      expect(events).toContainEqual(expect.objectContaining({ kind: "unstored", code: "TOKEN_NOT_STORED" }));

      isFull = false;
      world.store.refused.clear();
      expect(await report).toMatchObject({ outcome: "ok", counts: { rotated: 4 } });
      expect(world.store.tokens).toEqual(world.service.tokens);
    },
  );

  /** The store refuses `ids` from the first POST on, and one of two that begin at once is late. */
  const refusedWhileLate = (world: World, lateCall: string, ids: readonly string[]) => {
    let [posted, seen] = [0, 0];
    return async ({ when, call }: Point): Promise<void> => {
      if (when === "after" && call === "rotate" && ++posted === 1)
        for (const id of ids) world.store.refused.add(id);
      if (when === "before" && call === lateCall && ++seen === 2) await world.time.sleep(20_000);
    };
  };

  it("has not failed where the store refuses another's token while it is about to begin", async () => {
    const world = await aSyncedWorld();
    const at = refusedWhileLate(world, "readTokens", IDS);
    const { report } = world.startRotation(ALL, { settings: policy({ concurrency: 2 }), at });
    await world.time.sleep(50_000);
    expect(requests(world)).toEqual(["POST a"]);
    world.store.refused.clear();
    expect(await report).toMatchObject({ outcome: "ok", counts: { rotated: 4, failed: 0 } });
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  it("that is waiting to be stored holds all others back, though the store has taken another's since", async () => {
    const world = await aSyncedWorld();
    const at = refusedWhileLate(world, "writeTokens", ["a"]);
    const { report } = world.startRotation(ALL, { settings: policy({ concurrency: 2 }), at });
    await world.time.sleep(50_000);
    expect(requests(world)).toEqual(["POST a", "POST b"]);
    world.store.refused.clear();
    expect(await report).toMatchObject({ outcome: "ok", counts: { rotated: 4, failed: 0 } });
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  it("goes on trying to store a token while it is being told to stop", async () => {
    const world = await aSyncedWorld();
    const stop = new AbortController();
    const at = ({ when, call }: Point): void => {
      if (when !== "after" || call !== "rotate") return;
      world.store.refused.add("a");
      stop.abort();
    };
    const { report } = world.startRotation(ALL, { at, signal: stop.signal });
    await world.time.sleep(5_000);
    expect(world.store.tokens).not.toEqual(world.service.tokens);
    world.store.refused.clear();
    expect(await report).toMatchObject({
      outcome: "failed",
      counts: { rotated: 1 },
      error: { code: "INTERRUPTED" },
    });
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(requests(world)).toEqual(["POST a"]);
  });

  it("of an id that the ledger doesn't know is a mistake, and nobody's token is touched", async () => {
    const world = await aSyncedWorld();
    expect(await rotate(world, only("a", "A"))).toMatchObject({
      outcome: "failed",
      error: { code: "UNKNOWN_ID" },
    });
    expect(requests(world)).toEqual([]);
  });

  it("takes what is older than asked for", async () => {
    const world = await aSyncedWorld();
    await world.time.sleep(DAY);
    await rotate(world, only("b"));
    await world.time.sleep(DAY);
    const report = await rotate(world, { kind: "older than", ageMs: 1.5 * DAY });
    expect(report.counts.rotated).toBe(3);
  });
});

describe("what a sync rotates", () => {
  it("is what is older than rotation.max_age, the oldest first, after everything else", async () => {
    const world = await aSyncedWorld();
    await world.time.sleep(60 * DAY);
    await rotate(world, only("b"));
    await world.time.sleep(30 * DAY);
    world.service.requests.length = 0;
    world.tenants = tenants(...IDS, "e");
    expect(await world.sync({ settings: policy({}) })).toMatchObject({ counts: { created: 1, rotated: 3 } });
    expect(requests(world)).toEqual(["GET e", "POST a", "POST c", "POST d"]);
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(await world.sync({ settings: policy({}) })).toMatchObject({ counts: { rotated: 0 }, requests: 0 });
  });

  it("is spread over runs by max_per_run", async () => {
    const world = await aSyncedWorld();
    await world.time.sleep(90 * DAY);
    const settings = policy({ maxPerRun: 3 });
    const { report, events } = world.start({ settings });
    expect(await report).toMatchObject({ counts: { rotated: 3 } });
    expect(events).toContainEqual({ kind: "rotating", tokens: 3 });
    expect((await world.sync({ settings })).counts.rotated).toBe(1);
  });

  it("waits for its window", async () => {
    const world = await aSyncedWorld();
    await world.time.sleep(90 * DAY);
    const hour = world.time.now().getUTCHours();
    const at = (from: number, to: number) => {
      const clock = (hours: number): string => `${String((hours + 24) % 24).padStart(2, "0")}:00`;
      const window = parseDailyWindow(`${clock(from)}-${clock(to)}`);
      return policy({ window: window ? { ...window, timeZone: "UTC" } : null });
    };
    expect((await world.sync({ settings: at(hour + 1, hour + 2) })).counts.rotated).toBe(0);
    expect((await world.sync({ settings: at(hour, hour + 1) })).counts.rotated).toBe(4);
  });

  it("leaves out whose tenant is gone, or has a change under way: a GET that fails could not make a lost answer good", async () => {
    const world = await aSyncedWorld();
    world.tenants = [...tenants("a", "b"), { id: "c", name: "New name of c", plan: "gold" }];
    await world.time.sleep(90 * DAY);
    const at = ({ when, call, id }: Point): void => {
      if (when === "before" && call === "getOrCreate" && id === "c")
        throw new ServiceFailure("SERVICE_ERROR", "HTTP 501");
    };
    const deletion = { when: "never", gracePeriodMs: 0, limit: { count: 0, percent: 0 } } as const;
    await world.sync({ settings: { ...policy({}), deletion }, at });
    expect(requests(world).filter((request) => request.startsWith("POST"))).toEqual(["POST a", "POST b"]);
  });

  it("is nothing where only some tenants are synced", async () => {
    const world = await aSyncedWorld();
    await world.time.sleep(90 * DAY);
    expect((await world.sync({ settings: policy({}), only: new Set(["a"]) })).counts.rotated).toBe(0);
  });

  it("waits longer and longer for a token that can't be rotated, and says so", async () => {
    const world = await aSyncedWorld();
    await world.time.sleep(90 * DAY);
    const at = fails("REFUSED", "before", "a", 99);
    for (let times = 0; times < 3; times++) await world.sync({ settings: policy({}), at });
    world.service.requests.length = 0;
    const report = await world.sync({ settings: policy({}), at });
    expect(report).toMatchObject({ outcome: "partial", counts: { failed: 1 }, requests: 0 });
    expect(report.errors).toEqual([
      {
        user_group_id: "a",
        code: "REFUSED",
        message: expect.stringMatching(/^POST: REFUSED \(next try after 2026-/),
      },
    ]);
    await world.time.sleep(DAY);
    expect((await world.sync({ settings: policy({}) })).counts).toMatchObject({ rotated: 1, failed: 0 });
  });
});

describe("a rotation that dies at any moment", () => {
  it.each([
    { sharesLedger: false, concurrency: 1 },
    { sharesLedger: true, concurrency: 1 },
    { sharesLedger: false, concurrency: 3 },
  ])(
    "is done or still due, with every live token stored by the next sync ($concurrency at once, one database: $sharesLedger)",
    async ({ sharesLedger, concurrency }) => {
      for (let diesAt = 0, end: unknown = "died"; end === "died"; diesAt++) {
        const world = await aSyncedWorld();
        world.store.sharesLedger = sharesLedger;
        const before = world.service.tokens;
        end = await world.startRotation(ALL, { diesAt, settings: policy({ concurrency }) }).report;
        const unstored = IDS.filter((id) => world.store.tokens.get(id) !== world.service.tokens.get(id));
        expect(unstored.length).toBeLessThanOrEqual(concurrency);
        const rotated = IDS.filter((id) => world.service.tokens.get(id) !== before.get(id));

        expect({ diesAt, outcome: (await world.sync()).outcome }).toEqual({ diesAt, outcome: "ok" });
        expect(world.store.tokens).toEqual(world.service.tokens);
        // The ledger knows which are done, and what they had before.
        const done = IDS.filter(
          (id) => world.ledger.rows.get(id)?.tokenFingerprint !== fingerprint(before.get(id)),
        );
        expect({ diesAt, done }).toEqual({ diesAt, done: rotated });
        expect(world.ledger.formerTokens.map((token) => token.fingerprint).sort()).toEqual(
          rotated.map((id) => fingerprint(before.get(id))).sort(),
        );
      }
    },
  );
});

const fingerprint = (token: string | undefined): string => tokenFingerprint(new Secret(token ?? ""));
