import { describe, expect, it } from "vitest";
import type { RunEvent } from "../../../src/ports/observer.ts";
import { syncSettings, tenants, World } from "../../fakes/world.ts";
import { aSession, slow } from "./a-session.ts";

const { lease: LEASE } = syncSettings();
const NONE = { token: 0, gone: 0, name: 0 };

/** Somebody else changes the group at the service, and a new row has a GET find that. */
function drift(world: World, id: string, what: "token" | "gone"): void {
  const held = world.service.groups.get(id);
  if (what === "gone") world.service.groups.delete(id);
  else if (held) held.token = world.service.newToken(id);
  const index = world.tenants.findIndex((tenant) => tenant.id === id);
  world.tenants[index] = { id, name: "newer" };
}

async function aWorld(): Promise<World> {
  const world = new World(tenants("a", "b", "c"));
  world.service.existing = "update";
  await world.sync();
  return world;
}

const driftIn = (events: readonly RunEvent[]): string[] =>
  events.flatMap((event) => (event.kind === "drift" ? [`${event.user_group_id}: ${event.drift}`] : []));

/** The drift that the runs in the ledger's history have counted, newest first. */
const recorded = (world: World): unknown[] => world.ledger.runs.map(({ result }) => result?.counts.drift);

describe("drift that a lookup of a single tenant finds", () => {
  it("beside a full sync counts in that sync", async () => {
    const world = slow(await aWorld(), 1_000);
    world.tenants.push(...tenants("d", "e", "f", "g"));
    const session = aSession(world, { settings: { concurrency: 1 } });
    await world.time.sleep(500);
    drift(world, "a", "token");
    await session.serve("a");
    const { counts } = await session.run;
    expect(counts).toMatchObject({ created: 4, updated: 0, drift: { ...NONE, token: 1 } });
    expect(driftIn(session.events)).toEqual(["a: token"]);
    await session.end();
    expect(recorded(world)).toEqual([{ ...NONE, token: 1 }, NONE]);
  });

  it("between two full syncs is added to the record of the first, which keeps its times and its other counts", async () => {
    const world = await aWorld();
    const session = aSession(world);
    const { counts } = await session.run;
    const [before] = world.ledger.runs;
    await world.time.sleep(60_000);
    drift(world, "a", "token");
    drift(world, "b", "gone");
    await Promise.all(["a", "b"].map((id) => session.serve(id)));
    expect(driftIn(session.events).sort()).toEqual(["a: token", "b: gone"]);
    await session.end();
    const [run] = world.ledger.runs;
    expect(run?.result?.counts.drift).toEqual({ token: 1, gone: 1, name: 0 });
    expect({ ...run, result: { ...run?.result, counts: null } }).toEqual({
      ...before,
      result: { ...before?.result, counts: null },
    });
    expect({ ...run?.result?.counts, drift: null }).toEqual({ ...before?.result?.counts, drift: null });
    // What the sync has reported doesn't change any more.
    expect(counts.drift).toEqual(NONE);
  });

  it("is recorded before the lease is handed over", async () => {
    const world = await aWorld();
    const session = aSession(world, { settings: { lease: { ...LEASE, handsOver: true } } });
    await session.run;
    drift(world, "a", "token");
    await session.serve("a");
    const { report } = world.start();
    expect(await report).toMatchObject({ outcome: "ok", counts: { drift: NONE } });
    expect(recorded(world)).toEqual([NONE, { ...NONE, token: 1 }, NONE]);
    await session.end().catch(() => {});
  });

  it("is not recorded again if there is none", async () => {
    const world = await aWorld();
    const calls: string[] = [];
    const session = aSession(world, { at: ({ when, call }) => void (when === "before" && calls.push(call)) });
    await session.run;
    await session.serve("a");
    await world.time.sleep(60_000);
    await session.end();
    expect(calls.filter((call) => call === "finishRun")).toHaveLength(1);
  });
});
