import { describe, expect, it } from "vitest";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { tokenFingerprint } from "../../../src/core/group/group.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import { RecentCommits } from "../../../src/engine/durability/recent-commits.ts";
import { VirtualClock } from "../../fakes/virtual-time.ts";
import { tenants, World } from "../../fakes/world.ts";

/** A crash of the server takes back everything committed since this moment. */
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

describe("a database that crashes and loses its last commits", () => {
  it("gets the rotated tokens again, and the run reports that", async () => {
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

  it("gets the created groups again, so none of them is an orphan", async () => {
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

  it("is checked once it is back, if it is unavailable at first", async () => {
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

  it("is not waited for for ever: the run reports the wait and fails with its first error", async () => {
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

  it("is checked by the next run of the process if it crashes right after a run", async () => {
    const world = new World(tenants("a", "b"));
    await world.sync();
    world.recent = new RecentCommits(new VirtualClock(world.time));
    const before = aMoment(world);
    expect(await world.startRotation({ kind: "all" }).report).toMatchObject({ outcome: "ok" });
    before.crash();
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expectKnown(world);
  });

  it("keeps a token that another instance has made since the earlier run", async () => {
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

  it("causes no request if nothing is lost", async () => {
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

it("settings with which a database may lose commits are warned about", async () => {
  const world = new World(tenants("a"));
  world.risks = [{ setting: "fsync = off", safe: "fsync = on" }];
  const { events, report } = world.start();
  expect(await report).toMatchObject({ outcome: "ok" });
  expect(events).toContainEqual({
    kind: "warning",
    code: "COMMITS_AT_RISK",
    message: expect.stringMatching(/fsync = off.*rotated token/),
    hint: expect.stringContaining("fsync = on"),
    isStanding: true,
  });
});
