import { describe, expect, it } from "vitest";
import { SyncError } from "../../src/core/errors.ts";
import { tokenFingerprint } from "../../src/core/group.ts";
import { Secret } from "../../src/core/secret.ts";
import { RecentCommits } from "../../src/engine/recent-commits.ts";
import { VirtualClock } from "../fakes/virtual-time.ts";
import { tenants, World } from "../fakes/world.ts";

/** What a server that crashes takes back: all that was committed since. */
function aMoment(world: World) {
  const rows = new Map(world.ledger.rows);
  const tokens = new Map(world.store.tokens);
  return {
    crash: (): void => {
      restore(world.ledger.rows, rows);
      restore(world.store.tokens, tokens);
      world.durability.broken++;
    },
  };
}

function restore<K, V>(map: Map<K, V>, before: ReadonlyMap<K, V>): void {
  map.clear();
  for (const [key, value] of before) map.set(key, value);
}

function expectKnown({ ledger, service, store }: World): void {
  expect(store.tokens).toEqual(service.tokens);
  for (const [id, token] of service.tokens) {
    expect(ledger.rows.get(id)).toMatchObject({
      intent: null,
      tokenFingerprint: tokenFingerprint(new Secret(token)),
    });
  }
}

describe("a database that crashes and has lost what it committed a moment ago", () => {
  it("gets the rotated tokens again, and the run says so", async () => {
    const world = new World(tenants("a", "b", "c", "d"));
    await world.sync();
    const before = aMoment(world);
    let rotated = 0;
    const { report } = world.startRotation(
      { kind: "all" },
      {
        at: ({ when, call, id }) => {
          if (when === "before" && call === "rotate" && id !== undefined && ++rotated === 4) before.crash();
        },
      },
    );
    expect(await report).toMatchObject({ outcome: "failed", error: { code: "COMMITS_LOST" } });
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expectKnown(world);
  });

  it("is told again of the groups that were made, so that none of them is an orphan", async () => {
    const world = new World(tenants("a", "b", "c"));
    const before = aMoment(world);
    await world.sync({
      at: ({ when, call }) => {
        if (when === "before" && call === "finishRun") before.crash();
      },
    });
    world.tenants = tenants("c");
    await world.sync();
    await world.sync();
    expect([...world.service.groups.keys()]).toEqual(["c"]);
    expectKnown(world);
  });

  it("is waited for where it is away, and asked then", async () => {
    const world = new World(tenants("a", "b"));
    await world.sync();
    const before = aMoment(world);
    let isAway = false;
    const { report } = world.startRotation(
      { kind: "all" },
      {
        at: ({ when, call }) => {
          if (isAway) throw new SyncError("LEDGER_UNAVAILABLE", "the server starts again");
          if (when !== "after" || call !== "rotate") return;
          if (world.service.requests.filter(({ operation }) => operation === "POST").length < 2) return;
          before.crash();
          isAway = true;
          void world.time.sleep(20_000).then(() => {
            isAway = false;
          });
        },
      },
    );
    expect(await report).toMatchObject({ outcome: "failed" });
    // The other one was never committed: its rotation is under way, and the next sync asks about it.
    expect(world.store.tokens.get("a")).toBe(world.service.tokens.get("a"));
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expectKnown(world);
  });

  it("is not waited for for ever: the run says what it waits for, and fails for its first reason", async () => {
    const world = new World(tenants("a", "b"));
    let wentAway: number | undefined;
    const { report, events } = world.start({
      at: ({ when, call }) => {
        if (wentAway !== undefined) throw new SyncError("LEDGER_UNAVAILABLE", "the server is away");
        if (when !== "after" || call !== "getOrCreate") return;
        world.durability.broken++;
        wentAway = world.time.now().getTime();
      },
    });
    expect(await report).toMatchObject({ outcome: "failed", error: { code: "LEDGER_UNAVAILABLE" } });
    expect(world.time.now().getTime() - (wentAway ?? 0)).toBeLessThan(90_000);
    expect(events.filter(({ kind }) => kind === "waiting")).toMatchObject([
      { ms: 60_000, reason: expect.stringMatching(/last commits of \d groups? .*the server is away/) },
    ]);
    expect(events).toContainEqual(expect.objectContaining({ kind: "warning", code: "COMMITS_UNCHECKED" }));
  });

  it("is asked by the next run of the same process, where it crashes right after the end of one", async () => {
    const world = new World(tenants("a", "b"));
    await world.sync();
    world.recent = new RecentCommits(new VirtualClock(world.time));
    const before = aMoment(world);
    expect(await world.startRotation({ kind: "all" }).report).toMatchObject({ outcome: "ok" });
    before.crash();
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expectKnown(world);
  });

  it("gets no token of an earlier run over one that another instance has made since", async () => {
    const world = new World(tenants("a", "b"));
    await world.sync();
    const own = new RecentCommits(new VirtualClock(world.time));
    world.recent = own;
    await world.startRotation({ kind: "all" }).report;
    world.recent = new RecentCommits(new VirtualClock(world.time));
    await world.startRotation({ kind: "all" }).report;
    const newest = new Map(world.store.tokens);
    world.recent = own;
    const fails = ({ when, call }: { when: string; call: string }): void => {
      if (when === "before" && call === "prepareTokens")
        throw new SyncError("TOKEN_STORE_UNAVAILABLE", "away");
    };
    expect(await world.sync({ at: fails })).toMatchObject({ outcome: "failed" });
    expect(world.store.tokens).toEqual(newest);
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expectKnown(world);
  });

  it("is asked for nothing where nothing is lost", async () => {
    const world = new World(tenants("a", "b"));
    await world.sync();
    const { report } = world.startRotation(
      { kind: "all" },
      { at: ({ when, call }) => void (when === "after" && call === "rotate" && world.durability.broken++) },
    );
    expect(await report).toMatchObject({ outcome: "ok", counts: { rotated: 2 } });
    world.service.requests.length = 0;
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expect(world.service.requests).toEqual([]);
  });
});

it("a commit is suspected for ten seconds", async () => {
  const world = new World();
  const recent = new RecentCommits(new VirtualClock(world.time));
  const connections = { broken: 0 };
  recent.beginRun(connections);
  const commit = { change: null, token: null };
  recent.add("old", commit);
  await world.time.sleep(10_001);
  recent.add("young", commit);
  recent.add("settled", commit);
  recent.forget("settled");
  connections.broken++;
  recent.add("new", commit);
  expect([...recent.suspects.keys()]).toEqual(["young"]);
  connections.broken++;
  expect([...recent.suspects.keys()]).toEqual(["young", "new"]);
});

it("settings by which a database forgets are warned of", async () => {
  const world = new World(tenants("a"));
  world.risks = [{ setting: "fsync = off", safe: "fsync = on" }];
  const { events, report } = world.start();
  expect(await report).toMatchObject({ outcome: "ok" });
  expect(events).toContainEqual({
    kind: "warning",
    code: "COMMITS_AT_RISK",
    message: expect.stringMatching(/fsync = off.*rotated token/),
    hint: expect.stringContaining("fsync = on"),
  });
});
