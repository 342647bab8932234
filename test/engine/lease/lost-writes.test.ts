import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { tokenFingerprint } from "../../../src/core/group/group.ts";
import { RecentWrites } from "../../../src/core/record/recent-writes.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import { VirtualClock } from "../../fakes/virtual-time.ts";
import { aSyncedWorld, type StartOptions, tenants, World } from "../../fakes/world.ts";
import { SEED } from "../../support/databases/seed.ts";
import { rounds } from "../../support/long.ts";

/** The ledger and the token table are in one database. Afterwards it may go back to this moment. */
function aMoment({ ledger, store }: World): () => void {
  const putBack = ledger.copy();
  const tokens = new Map(store.tokens);
  return () => {
    putBack();
    store.tokens.clear();
    for (const [id, token] of tokens) store.tokens.set(id, token);
  };
}

/** What one process remembers, whatever it runs. */
const aProcess = (world: World): RecentWrites => new RecentWrites(new VirtualClock(world.time).now());

function expectKnown({ ledger, service, store }: World): void {
  expect(store.tokens).toEqual(service.tokens);
  expect([...ledger.rows.keys()].sort()).toEqual([...service.groups.keys()].sort());
  for (const [id, token] of service.tokens)
    expect(ledger.rows.get(id)).toMatchObject({
      intent: null,
      tokenFingerprint: tokenFingerprint(new Secret(token)),
    });
}

const idsIn = ({ ledger: { rows } }: World): string[] =>
  [...rows.values()].flatMap((row) => (row.doubt ? [row.user_group_id] : []));

describe("a ledger whose database goes back in time", () => {
  it("during a run that the lost writes began: says so, and the next sync stores the live tokens", async () => {
    const world = await aSyncedWorld(["a", "b", "c", "d"]);
    const putBack = aMoment(world);
    let posts = 0;
    const report = await world.rotate(
      { kind: "all" },
      {
        at: ({ when, call }) => {
          if (when === "before" && call === "rotate" && ++posts === 4) putBack();
        },
      },
    );
    expect(report).toMatchObject({
      outcome: "failed",
      error: {
        code: "LEDGER_REWOUND",
        message: expect.stringMatching(/went back in time.* 4 groups, among them a, b, c, d/),
        hint: expect.stringContaining("groupsync sync"),
      },
    });
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { drift: { token: 0 } } });
    expectKnown(world);
  });

  it("between two runs of a process, by minutes: the next run of the process heals it", async () => {
    const world = await aSyncedWorld(["a", "b", "c"]);
    world.recent = aProcess(world);
    await world.sync();
    const putBack = aMoment(world);
    await world.rotate({ kind: "only", ids: new Set(["a", "b"]) });
    await world.time.sleep(9 * 60_000);
    putBack();
    const { report, events } = world.start();
    expect(await report).toMatchObject({ outcome: "ok", requests: 2 });
    expect(events).toContainEqual(
      expect.objectContaining({
        code: "LEDGER_REWOUND",
        message: expect.stringMatching(
          /lost writes about 2 groups, among them a, b; these groups are in doubt$/,
        ),
      }),
    );
    expectKnown(world);
    world.service.requests.length = 0;
    expect(await world.sync()).toMatchObject({ outcome: "ok", requests: 0 });
  });

  it("while the database is away at the end of a run: waits for it, and says what is in doubt", async () => {
    const world = await aSyncedWorld(["a", "b"]);
    const putBack = aMoment(world);
    let isAway = false;
    world.tenants = tenants("a", "b", "c");
    const { report, events } = world.start({
      at: ({ when, call }) => {
        if (isAway) throw new SyncError("LEDGER_UNAVAILABLE", "the server starts again");
        if (when !== "after" || call !== "getOrCreate") return;
        putBack();
        isAway = true;
        void world.time.sleep(20_000).then(() => {
          isAway = false;
        });
      },
    });
    expect(await report).toMatchObject({ outcome: "failed", error: { code: "LEDGER_REWOUND" } });
    expect(events.filter(({ kind }) => kind === "waiting")).toMatchObject([
      { reason: expect.stringContaining("the server starts again") },
    ]);
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expectKnown(world);
  });

  it("for good: the run waits for a minute, and reports its first error", async () => {
    const world = await aSyncedWorld(["a"]);
    let wentAway: number | undefined;
    world.tenants = tenants("a", "b");
    const { report, events } = world.start({
      at: ({ when, call }) => {
        if (wentAway !== undefined) throw new SyncError("LEDGER_UNAVAILABLE", "the server is away");
        if (when === "after" && call === "getOrCreate") wentAway = world.time.now().getTime();
      },
    });
    expect(await report).toMatchObject({ outcome: "failed", error: { code: "LEDGER_UNAVAILABLE" } });
    expect(world.time.now().getTime() - (wentAway ?? 0)).toBeLessThan(90_000);
    expect(events).toContainEqual(expect.objectContaining({ kind: "warning", code: "COMMITS_UNCHECKED" }));
  });

  it("by more than the process remembers: all groups are in doubt, and nothing is green until they are asked for", async () => {
    const world = await aSyncedWorld(["a", "b", "c"]);
    const putBack = aMoment(world);
    await world.rotate();
    world.recent = aProcess(world);
    await world.sync();
    putBack();
    world.service.requests.length = 0;
    const failing: StartOptions = {
      at: ({ when, call, id }) => {
        if (when === "before" && call === "getOrCreate" && id === "b")
          throw new SyncError("INTERRUPTED", "told to stop");
      },
    };
    expect((await world.sync(failing)).outcome).not.toBe("ok");
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expectKnown(world);
  });

  it("by a failover that nobody saw: all groups are in doubt, unless the operator says that nothing was lost", async () => {
    const world = await aSyncedWorld(["a", "b"]);
    await world.sync();
    world.ledger.server = "a replica";
    expect(await world.sync({ mark: { kind: "trusted", doubt: "rewind" } })).toMatchObject({
      outcome: "ok",
      requests: 0,
    });
    world.ledger.server = "another replica";
    const { report, events } = world.start();
    expect(await report).toMatchObject({ outcome: "ok", requests: 2 });
    expect(events).toContainEqual(
      expect.objectContaining({ code: "LEDGER_REWOUND", message: expect.stringContaining("all groups") }),
    );
    world.service.requests.length = 0;
    expect(await world.sync()).toMatchObject({ outcome: "ok", requests: 0 });
  });

  it("keeps what another instance has recorded since, and asks for all groups", async () => {
    const world = await aSyncedWorld(["a", "b"]);
    const own = aProcess(world);
    world.recent = own;
    await world.sync();
    const putBack = aMoment(world);
    world.tenants = tenants("a", "b", "c");
    await world.sync();
    putBack();
    world.recent = aProcess(world);
    world.tenants = tenants("a", "b");
    await world.rotate({ kind: "only", ids: new Set(["a"]) });
    world.recent = own;
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    await world.sync();
    expectKnown(world);
    expect([...world.service.groups.keys()]).toEqual(["a", "b"]);
  });

  it("again, before the groups in doubt are recorded: they are in doubt all the same", async () => {
    const world = await aSyncedWorld(["a", "b"]);
    world.recent = aProcess(world);
    await world.sync();
    const putBack = aMoment(world);
    await world.rotate();
    putBack();
    const away: StartOptions = {
      at: ({ when, call }) => {
        if (when === "before" && call === "commit") throw new SyncError("LEDGER_UNAVAILABLE", "away");
      },
    };
    expect(await world.sync(away)).toMatchObject({ outcome: "failed" });
    expect(idsIn(world)).toEqual([]);
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expectKnown(world);
  });

  it("keeps the groups of rows that aren't ready in doubt, and no sync is green until they are", async () => {
    const world = await aSyncedWorld(["a", "b"]);
    world.ledger.server = "a replica";
    world.tenants = [...tenants("a"), { id: "b", name: null, plan: "gold" }];
    expect(await world.sync()).toMatchObject({ outcome: "partial", requests: 1 });
    expect(idsIn(world)).toEqual(["b"]);
    world.tenants = tenants("a", "b");
    expect(await world.sync()).toMatchObject({ outcome: "ok", requests: 1 });
    expect(idsIn(world)).toEqual([]);
  });

  it("of some tenants: sync --only asks for the named groups alone", async () => {
    const world = await aSyncedWorld(["a", "b"]);
    world.ledger.server = "a replica";
    expect(await world.sync({ only: new Set(["a"]) })).toMatchObject({ outcome: "ok", requests: 1 });
    expect(idsIn(world)).toEqual(["b"]);
  });
});

test(`wherever a run is when the ledger goes back, and however far: one sync heals it (GROUPSYNC_TEST_SEED=${SEED})`, async () => {
  const command = fc.constantFrom("sync", "rotate");
  const place = fc.record({
    command,
    from: fc.nat(60),
    after: fc.nat(60),
    concurrency: fc.constantFrom(1, 4),
  });
  await fc.assert(
    fc.asyncProperty(place, async ({ command, from, after, concurrency }) => {
      const world = await aSyncedWorld(["a", "b", "c", "d"]);
      world.service.existing = "update";
      world.store.sharesLedger = true;
      world.recent = aProcess(world);
      world.tenants = tenants("b", "c", "d", "e", "f").map((row) =>
        row.id === "c" ? { ...row, plan: "new" } : row,
      );
      let nth = 0;
      let putBack: (() => void) | undefined;
      const at = (): void => {
        if (nth === from) putBack = aMoment(world);
        if (nth++ === from + after) putBack?.();
      };
      const options = { at, settings: { concurrency } };
      await (command === "sync" ? world.sync(options) : world.rotate({ kind: "all" }, options));
      expect(await world.sync()).toMatchObject({ outcome: "ok" });
      expectKnown(world);
      expect([...world.service.groups.keys()].sort()).toEqual(["b", "c", "d", "e", "f"]);
      expect(world.service.groups.get("c")?.group.properties).toEqual({ plan: "new" });
      expect(await world.sync()).toMatchObject({ outcome: "ok", requests: 0 });
    }),
    { seed: SEED, numRuns: rounds(200) },
  );
});

it("a rotation by another process is no lost write: the next sync sends nothing", async () => {
  const world = new World(tenants("a"));
  const daemon = aProcess(world);
  world.recent = daemon;
  await world.sync();
  world.recent = undefined;
  await world.rotate();
  world.recent = daemon;
  expect(await world.sync()).toMatchObject({ outcome: "ok", requests: 0, counts: { updated: 0 } });
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
