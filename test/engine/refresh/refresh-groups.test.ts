import { describe, expect, test } from "vitest";
import { NO_EVIDENCE } from "../../../src/core/apply/update-evidence.ts";
import { ServiceFailure } from "../../../src/core/failure/service-failure.ts";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import type { Group } from "../../../src/core/group/group.ts";
import { Silence } from "../../../src/engine/refresh/sign-of-life.ts";
import type { RunReport } from "../../../src/engine/report/run-report.ts";
import { failing } from "../../fakes/instance.ts";
import { aSyncedWorld, type Started, type StartOptions, tenants, World } from "../../fakes/world.ts";

const HOUR = 3_600_000;

const WEEK = 7 * 24 * HOUR;

const ids = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, index) => `t${String(index + from).padStart(3, "0")}`);

/** A world in which these tenants have groups, an hour ago. */
async function worldWith(...which: string[]): Promise<World> {
  const world = await aSyncedWorld(which);
  await world.time.sleep(HOUR);
  world.service.requests.length = 0;
  return world;
}

const refresh = (world: World, options: StartOptions = {}, settings = {}): Promise<RunReport> =>
  world.sync({ refresh: true, ...options, settings });

const rename = (world: World, id: string, name: string): void => {
  const held = world.service.groups.get(id);
  if (held) held.group = { ...held.group, name };
};

const rotateAt = ({ service }: World, ...which: string[]): void => {
  for (const [id, held] of service.groups) if (which.includes(id)) held.token = service.newToken(id);
};

type Ending = Started & { readonly stopping: AbortController };

const CANCEL = { mark: { kind: "trusted", doubt: "operator" } } as const;

describe("sync --refresh", () => {
  test("leaves no group in doubt, at whatever moment a rotation was killed before", async () => {
    for (let diesAt = 0, end: unknown = "died"; end === "died"; diesAt++) {
      const world = await aSyncedWorld(["a"]);
      end = await world.startRotation({ kind: "all" }, { diesAt }).report;
      expect({ diesAt, ...(await refresh(world)) }).toMatchObject({ diesAt, outcome: "ok", errors: [] });
    }
  });

  test("asks for every group once, and changes nothing if nobody has changed anything", async () => {
    const world = await worldWith("a", "b", "c");
    const before = new Map(world.service.tokens);
    const report = await refresh(world);
    expect(report).toMatchObject({ outcome: "ok", requests: 3, counts: { refreshed: 3, unchanged: 3 } });
    expect(report.counts.drift).toEqual({ token: 0, gone: 0, name: 0 });
    expect(world.service.tokens).toEqual(before);
    expect([...world.ledger.rows.values()].map(({ intent }) => intent)).toEqual([null, null, null]);
  });

  test.each([
    ["is told to stop", ({ stopping }: Ending) => stopping.abort()],
    ["is killed", ({ instance }: Ending) => instance.kill()],
    [
      "loses its ledger",
      () => {
        throw new SyncError("LEDGER_UNAVAILABLE", "away");
      },
    ],
  ])("that %s after a GET leaves the rest to the next sync", async (_, end) => {
    // More than there are intents when the first GET is answered.
    const [, second = "", ...others] = ids(100);
    const world = await worldWith(...ids(100));
    const stopping = new AbortController();
    const started = world.start({
      refresh: true,
      signal: stopping.signal,
      settings: { concurrency: 1 },
      at: ({ when, call, id }) => {
        if (when === "before" && call === "getOrCreate" && id === second) end({ ...started, stopping });
      },
    });
    expect(await started.report).not.toMatchObject({ outcome: "ok" });
    await world.time.sleep(HOUR);
    rotateAt(world, ...others);
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(await world.sync()).toMatchObject({ outcome: "ok", requests: 0 });
  });

  test("stores another token, and makes a group again that is gone", async () => {
    const world = await worldWith("a", "b", "c");
    rotateAt(world, "a");
    world.service.groups.delete("b");
    const report = await refresh(world);
    expect(report).toMatchObject({
      outcome: "ok",
      requests: 3,
      counts: { refreshed: 3, created: 0, updated: 0 },
    });
    expect(report.counts.drift).toEqual({ token: 1, gone: 1, name: 0 });
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(world.ledger.found.map(({ user_group_id }) => user_group_id).sort()).toEqual(["a", "b"]);
    expect(world.ledger.removals).toEqual([]);
    expect(await refresh(world)).toMatchObject({ counts: { drift: { token: 0, gone: 0, name: 0 } } });
  });

  test.each([
    ["upsert", { failed: 1, outdated: 0, replaced: 0 }, "the wrong name"],
    ["replace", { failed: 0, outdated: 0, replaced: 1 }, "Name of a"],
    ["never", { failed: 0, outdated: 1, replaced: 0 }, "the wrong name"],
  ] as const)(
    "tells another name, and the next sync repairs it as service.update: %s has it",
    async (update, next, name) => {
      const world = await worldWith("a", "b");
      world.ledger.service = { ...world.ledger.service, evidence: { ...NO_EVIDENCE, probe: false } };
      rename(world, "a", "the wrong name");
      const report = await refresh(world, {}, { update });
      expect(report).toMatchObject({ outcome: "partial", requests: 2, counts: { failed: 1, refreshed: 2 } });
      expect(report.counts.drift).toEqual({ token: 0, gone: 0, name: 1 });
      expect((await world.sync({ settings: { update } })).counts).toMatchObject(next);
      expect(world.service.groups.get("a")?.group.name).toBe(name);
    },
  );

  test("repairs the name at a service that updates by the look itself, and counts all as unverified", async () => {
    const world = await worldWith("a", "b");
    world.service.existing = "update";
    world.ledger.service = { ...world.ledger.service, evidence: { ...NO_EVIDENCE, probe: true } };
    rename(world, "a", "the wrong name");
    const report = await refresh(world);
    expect(report).toMatchObject({ outcome: "ok", counts: { refreshed: 2, unverified: 2 } });
    expect(report.counts.drift).toEqual({ token: 0, gone: 0, name: 0 });
    expect(world.service.groups.get("a")?.group.name).toBe("Name of a");
  });

  test("with service.update: never asks nobody, and stays due until the operator takes it back", async () => {
    const world = await worldWith("a");
    const settings = { update: "never", refresh: { everyMs: HOUR } } as const;
    const { events, report } = world.start({ refresh: true, settings });
    const left = { outcome: "partial", requests: 0, errors: [{ user_group_id: "a", code: "IN_DOUBT" }] };
    expect(await report).toMatchObject(left);
    expect(events).toContainEqual(expect.objectContaining({ code: "REFRESH_UNSAFE" }));
    expect(await world.sync({ settings })).toMatchObject(left);
    // Nobody asked for a refresh that the config alone wants.
    expect(await world.sync({ settings, ...CANCEL })).toMatchObject({ outcome: "ok", requests: 0 });
  });

  test("that is taken back leaves in doubt what the ledger lost when it went back in time", async () => {
    const world = await worldWith("a", "b");
    world.ledger.server = "a replica";
    world.tenants = [{ id: "a", name: null, plan: "gold" }, ...tenants("b")];
    expect(await refresh(world)).toMatchObject({ outcome: "partial", requests: 1 });
    await world.sync(CANCEL);
    expect([...world.ledger.rows.values()].map(({ doubt }) => doubt)).toEqual(["rewind", null]);
  });

  test("asks for no other group in place of one that may not be asked for", async () => {
    const world = await worldWith("a", "b", "c");
    world.tenants = [...tenants("b", "c"), { id: "a", name: null, plan: "gold" }];
    expect(await refresh(world)).toMatchObject({ outcome: "partial", requests: 2 });
    await world.time.sleep(HOUR);
    expect(await world.sync()).toMatchObject({ outcome: "partial", requests: 0 });
  });

  test("goes on in the daemon's syncs for half of the time between two of them", async () => {
    const world = await worldWith(...ids(10));
    const silence = new Silence();
    const settings = { concurrency: 1, refresh: { everyMs: null, silence } };
    world.network = () => world.time.sleep(HOUR / 10);
    const stopping = new AbortController();
    const at: StartOptions["at"] = ({ when, call }) => {
      if (when === "before" && call === "getOrCreate") stopping.abort();
    };
    await world.sync({ refresh: true, at, signal: stopping.signal });
    await world.time.sleep(HOUR);
    const asked: number[] = [];
    for (let n = 0; n < 3; n++) {
      const begun = world.time.now().getTime();
      asked.push((await world.sync({ settings })).counts.refreshed);
      await world.time.sleep(begun + HOUR - world.time.now().getTime());
    }
    expect(asked).toEqual([5, 4, 0]);
  });

  test("with --only asks for that tenant alone", async () => {
    const world = await worldWith("a", "b");
    rotateAt(world, "a", "b");
    const report = await refresh(world, { only: new Set(["a"]) });
    expect(report).toMatchObject({ requests: 1, counts: { refreshed: 1, drift: { token: 1 } } });
  });

  test("with --only doesn't ask for a tenant that has just gone", async () => {
    const world = await worldWith("a", "b");
    world.tenants = tenants("b");
    world.service.groups.delete("a");
    expect(await refresh(world, { only: new Set(["a"]) })).toMatchObject({ requests: 0 });
    expect(world.service.groups.has("a")).toBe(false);
  });

  test("stops at the first answer of another team", async () => {
    const world = await worldWith(...ids(9));
    world.service.teamId = 8;
    expect(await refresh(world)).toMatchObject({ outcome: "failed", error: { code: "TEAM_CHANGED" } });
    expect(world.service.requests.filter(({ operation }) => operation === "GET")).toHaveLength(1);
  });
});

describe("the guard", () => {
  const limit = { deletion: { when: "absent", gracePeriodMs: 0, limit: { count: 3, percent: 0 } } } as const;

  test("stops once more groups were gone than deletion.limit allows, and holds the rest", async () => {
    const world = await worldWith(...ids(100));
    world.service.groups.clear();
    const report = await refresh(world, {}, limit);
    expect(report).toMatchObject({ outcome: "held", hold: undefined, refreshHold: { code: "REFRESH_HELD" } });
    const made = world.service.groups.size;
    expect(made).toBeGreaterThan(3);
    // Those in flight: `concurrency` is 4.
    expect(made).toBeLessThanOrEqual(4 + 3);
    expect(report.counts.drift.gone).toBe(made);
    expect(report.refreshHold?.count).toBe(100 - made);
    for (const [id, token] of world.service.tokens) expect(world.store.tokens.get(id)).toBe(token);

    const later = await refresh(world, {}, limit);
    expect(later).toMatchObject({ outcome: "held", requests: 0 });
    expect(later.refreshHold?.approval).toBe(report.refreshHold?.approval);
  });

  test("counts groups that are gone, but no other tokens if the ledger went back in time and may have lost them", async () => {
    const world = await worldWith(...ids(20));
    world.ledger.server = "a replica";
    rotateAt(world, ...ids(20));
    expect(await world.sync({ settings: limit })).toMatchObject({ outcome: "ok", requests: 20 });
    expect(world.store.tokens).toEqual(world.service.tokens);
    rotateAt(world, ...ids(9));
    expect(await refresh(world, {}, limit)).toMatchObject({ outcome: "held" });
    world.ledger.server = "another replica";
    rotateAt(world, ...ids(20));
    expect(await world.sync({ settings: limit })).toMatchObject({ outcome: "held", requests: 20 });
    expect(world.store.tokens).toEqual(world.service.tokens);
    world.ledger.server = "a third one";
    world.service.groups.clear();
    expect(await world.sync({ settings: limit })).toMatchObject({ outcome: "held" });
  });

  test.each([
    ["gone", (world: World) => world.service.groups.clear()],
    ["token", (world: World) => rotateAt(world, ...ids(20))],
  ] as const)("lets the refresh go on with the code, and counts anew after it (%s)", async (kind, drift) => {
    const world = await worldWith(...ids(20));
    drift(world);
    const held = await refresh(world, {}, limit);
    expect(held.counts.drift[kind]).toBeLessThanOrEqual(4 + 3);
    const { refreshHold } = held;
    const wrong = await refresh(world, { refreshApproval: "no" }, limit);
    expect(wrong.errors.slice(0, 2).map(({ code }) => code)).toEqual(["APPROVAL_MISMATCH", "REFRESH_HELD"]);
    const approved = await refresh(world, { refreshApproval: refreshHold?.approval }, limit);
    expect(approved).toMatchObject({ outcome: "ok" });
    expect(world.service.groups.size).toBe(20);
    expect(world.store.tokens).toEqual(world.service.tokens);
    await world.time.sleep(HOUR);
    expect(await refresh(world, {}, limit)).toMatchObject({ outcome: "ok", requests: 20 });
  });

  test("counts a group that was made again by a GET whose answer was lost", async () => {
    const world = await keepingWorld(...ids(50));
    world.service.groups.clear();
    const lost = new Set<string>();
    const report = await world.sync({
      refresh: true,
      settings: limit,
      at: ({ when, call, id }) => {
        if (when !== "after" || call !== "getOrCreate" || id === undefined || lost.has(id)) return;
        lost.add(id);
        throw new ServiceFailure("TIMEOUT", "no answer came");
      },
    });
    expect(report).toMatchObject({ outcome: "held" });
    expect(world.service.groups.size).toBeLessThan(20);
  });

  test("counts a group that was made again and whose token no store took", async () => {
    const world = await keepingWorld("a", "b", "c");
    world.service.groups.delete("a");
    world.store.refused.add("a");
    expect(await world.sync({ refresh: true })).toMatchObject({ counts: { drift: { gone: 1 } } });
    expect(world.ledger.found).toHaveLength(1);
  });

  test("counts a group that the next sync makes again, because a GET of the refresh got no answer", async () => {
    const world = await keepingWorld(...ids(50));
    world.service.groups.clear();
    await world.sync({
      refresh: true,
      settings: limit,
      at: failing("before", "getOrCreate", () => new ServiceFailure("TIMEOUT", "no answer came")),
    });
    await world.time.sleep(HOUR);
    await world.sync({ settings: limit });
    expect(world.ledger.found).toHaveLength(world.service.groups.size);
  });

  test("is appeased by the code even if the clock that found the groups gone was ahead", async () => {
    const world = await keepingWorld(...ids(20));
    world.service.groups.clear();
    const ahead = world.start({ refresh: true, settings: limit });
    ahead.clock.jump(3 * DAY);
    const report = await ahead.report;
    if (report === "died") throw new Error("it died");
    const refreshApproval = report.refreshHold?.approval;
    expect(await world.sync({ refresh: true, refreshApproval, settings: limit })).toMatchObject({
      outcome: "ok",
    });
    await world.time.sleep(HOUR);
    expect(await world.sync({ refresh: true, settings: limit })).toMatchObject({
      outcome: "ok",
      requests: 20,
    });
  });
});

test("service.refresh asks for a group that a clock which was ahead has verified", async () => {
  const world = await worldWith("a", "b");
  const row = world.ledger.rows.get("a");
  const later = new Date(world.time.now().getTime() + WEEK);
  if (row) world.ledger.rows.set("a", { ...row, verifiedAt: later });
  for (let hour = 0; hour < 2 * 24; hour++) {
    await world.sync({ settings: { refresh: { everyMs: 2 * 24 * HOUR } } });
    await world.time.sleep(HOUR);
  }
  expect(world.service.requests.map(({ id }) => id)).toContain("a");
});

test("a share lasts half the time between two syncs at most", async () => {
  const world = await worldWith(...ids(100));
  world.network = () => world.time.sleep(HOUR / 5);
  const settings = { concurrency: 1, refresh: { everyMs: 5 * HOUR } };
  expect(await world.sync({ settings })).toMatchObject({ outcome: "ok", requests: 3 });
});

test("without service.refresh no sync asks for a group again", async () => {
  const world = await worldWith("a");
  await world.time.sleep(90 * 24 * HOUR);
  expect(await world.sync()).toMatchObject({ requests: 0, counts: { refreshed: 0 } });
});

test("an ordinary update tells drift too", async () => {
  const world = await worldWith("a");
  world.service.existing = "update";
  rotateAt(world, "a");
  world.tenants = [{ id: "a", name: "Name of a", plan: "free" }];
  expect(await world.sync()).toMatchObject({ counts: { updated: 1, refreshed: 0, drift: { token: 1 } } });
});

const DAY = 24 * HOUR;

/** Groups at a service that is known to keep what exists. */
async function keepingWorld(...which: string[]): Promise<World> {
  const world = await aSyncedWorld(which);
  world.ledger.service = { ...world.ledger.service, evidence: { ...NO_EVIDENCE, probe: false } };
  await world.time.sleep(HOUR);
  return world;
}

test.each(["upsert", "replace", "never"] as const)(
  "with service.update: %s, a service that shortens names has not renamed its groups",
  async (update) => {
    const world = new World(tenants("a", "b"));
    const { service } = world;
    const put = service.put.bind(service);
    service.put = (group: Group) => put({ ...group, name: group.name.slice(0, 6) });
    const settings = { update };
    expect(await world.sync({ settings })).toMatchObject({ outcome: "ok" });
    world.ledger.service = { ...world.ledger.service, evidence: { ...NO_EVIDENCE, probe: false } };
    const before = new Map(service.tokens);
    await world.time.sleep(HOUR);
    const report = await world.sync({ refresh: true, settings });
    expect(report).toMatchObject({ outcome: "ok", counts: { refreshed: 2, drift: { name: 0 } } });
    await world.sync({ settings });
    expect(service.tokens).toEqual(before);
  },
);

describe("with service.update: never", () => {
  const settings = { update: "never" } as const;

  test("a refresh that died leaves an outdated group as it is, and the next one asks for it", async () => {
    const world = await keepingWorld("a", "b");
    world.tenants = world.tenants.map((row) => (row.id === "a" ? { ...row, name: "New name" } : row));
    expect(await world.sync({ settings })).toMatchObject({ outcome: "ok", counts: { outdated: 1 } });
    await world.time.sleep(HOUR);
    const dying = world.start({
      refresh: true,
      settings,
      at: ({ when, call, id }) => {
        if (when === "after" && call === "getOrCreate" && id === "a") dying.instance.kill();
      },
    });
    expect(await dying.report).toBe("died");
    await world.time.sleep(HOUR);
    expect(await world.sync({ settings })).toMatchObject({ outcome: "ok", counts: { outdated: 1 } });
    rotateAt(world, "a");
    await world.time.sleep(HOUR);
    expect(await world.sync({ refresh: true, settings })).toMatchObject({ outcome: "ok" });
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  test("a change that has failed before the key was never doesn't keep the group from being asked for", async () => {
    const world = await keepingWorld("a");
    world.tenants = [{ id: "a", name: "New name", plan: "gold" }];
    expect(await world.sync()).toMatchObject({ outcome: "partial" });
    rotateAt(world, "a");
    await world.time.sleep(HOUR);
    await world.sync({ refresh: true, settings });
    expect(world.store.tokens).toEqual(world.service.tokens);
  });
});

test("a group that is never answered counts as failed, also if its GET outlasts the refresh's time", async () => {
  const world = await keepingWorld("a", "b");
  const settings = { refresh: { everyMs: DAY } };
  for (let sync = 0; sync < 2; sync++) {
    await world.time.sleep(10_000);
    await world.sync({ settings });
  }
  await world.time.sleep(DAY);
  const report = await world.sync({
    settings,
    at: async ({ when, call, id }) => {
      if (when !== "before" || call !== "getOrCreate" || id !== "a") return;
      await world.time.sleep(15_000);
      throw new ServiceFailure("TIMEOUT", "no answer came");
    },
  });
  expect(report).toMatchObject({ outcome: "partial", counts: { failed: 1 } });
});

test("a code that nothing needs is told of, also if no group is due", async () => {
  const world = await keepingWorld("a");
  await world.sync({ refresh: true });
  world.tenants = [{ id: "a", name: null, plan: "gold" }];
  const { events, report } = world.start({ refresh: true, refreshApproval: "wrong", only: new Set(["a"]) });
  await report;
  expect(events).toContainEqual(expect.objectContaining({ code: "APPROVAL_NOT_NEEDED" }));
});
