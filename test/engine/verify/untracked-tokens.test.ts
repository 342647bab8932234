import { describe, expect, test } from "vitest";
import type { RunEvent, Warning } from "../../../src/ports/observer.ts";
import { type StartOptions, tenants, World } from "../../fakes/world.ts";

/** Some tenants were removed while the ledger was lost. */
async function aWorldWithout(gone: readonly string[], ...left: string[]): Promise<World> {
  const world = new World(tenants(...left, ...gone));
  await world.sync();
  world.ledger.clear();
  world.tenants = tenants(...left);
  return world;
}

const untrackedIn = (events: readonly RunEvent[]): Warning[] =>
  events.flatMap((event) => (event.kind === "warning" && event.code === "GROUP_UNTRACKED" ? [event] : []));

async function warnings(world: World, options: StartOptions = {}): Promise<string[]> {
  const { events, report } = world.start(options);
  await report;
  return untrackedIn(events).map(({ message }) => message);
}

describe("a token whose group the ledger doesn't know and whose tenant is gone", () => {
  test("is reported by the sync that adopts the other groups, with a remedy", async () => {
    const world = await aWorldWithout(["b"], "a", "c");
    const { events, report } = world.start();
    expect(await report).toMatchObject({ outcome: "ok", counts: { adopted: 2, deleted: 0 } });
    expect(untrackedIn(events)).toEqual([
      {
        kind: "warning",
        code: "GROUP_UNTRACKED",
        message:
          "1 token in the store belongs to a group that the ledger doesn't know and whose tenant is gone: b",
        hint: expect.stringContaining("restore the ledger"),
      },
    ]);
    expect(world.store.tokens.has("b")).toBe(true);
  });

  test("is reported again only by a sync with --verify-tokens", async () => {
    const world = await aWorldWithout(["b"], "a", "c");
    expect(await warnings(world)).toHaveLength(1);
    expect(await warnings(world)).toEqual([]);
    expect(await warnings(world, { verifyTokens: true })).toHaveLength(1);
  });

  test("is reported even if a sync of some tenants came before", async () => {
    const world = await aWorldWithout(["b"], "a", "c");
    expect(await warnings(world, { only: new Set(["a"]) })).toEqual([]);
    expect(await warnings(world)).toHaveLength(1);
  });

  test("is reported before anything changes, even if the sync dies at any moment", async () => {
    for (let diesAt = 0; ; diesAt++) {
      const world = await aWorldWithout(["b"], "a", "c");
      const before = world.service.requests.length;
      const first = world.start({ diesAt });
      const end = await first.report;
      if (world.service.requests.length > before) expect(untrackedIn(first.events)).toHaveLength(1);
      if (end !== "died") break;
    }
  });

  test("is no longer reported once a sync has seen its tenant again", async () => {
    const world = await aWorldWithout(["b"], "a");
    await world.sync();
    world.tenants = tenants("a", "b");
    expect(await world.sync()).toMatchObject({ counts: { adopted: 1 } });
    world.tenants = tenants("a");
    expect(await world.sync()).toMatchObject({ counts: { deleted: 1 } });
    expect(await warnings(world, { verifyTokens: true })).toEqual([]);
    expect([...world.service.groups.keys()]).toEqual(["a"]);
  });

  test("the first of many are named and all are counted", async () => {
    const gone = Array.from({ length: 12 }, (_, n) => `t${String(n).padStart(2, "0")}`);
    const [message] = await warnings(await aWorldWithout(gone, "a", "z"));
    expect(message).toMatch(/^12 tokens in the store belong to groups .*: t00, t01, .*, t09 and 2 more$/);
  });
});

test("a token whose row is rejected, or that could not be removed, is not untracked", async () => {
  const world = await aWorldWithout([], "a", "b", "c");
  world.tenants = [...tenants("a", "c"), { id: "b", name: null, plan: "gold" }];
  expect(await warnings(world)).toEqual([]);
  world.store.notRemovable.add("c");
  world.tenants = world.tenants.filter(({ id }) => id !== "c");
  const { errors } = await world.sync();
  expect(errors).toContainEqual(expect.objectContaining({ user_group_id: "c", code: "TOKEN_NOT_REMOVED" }));
  expect(await warnings(world, { verifyTokens: true })).toEqual([]);
});

test("rotate --all reports groups that the ledger doesn't know, and ends as partial", async () => {
  const world = await aWorldWithout(["b"], "a");
  await world.sync();
  const before = world.service.tokens;
  const { report } = world.startRotation({ kind: "all" });
  expect(await report).toMatchObject({
    outcome: "partial",
    counts: { rotated: 1, failed: 1 },
    errors: [{ user_group_id: "b", code: "GROUP_UNTRACKED" }],
  });
  expect(world.service.tokens.get("a")).not.toBe(before.get("a"));
  const only = { kind: "only", ids: new Set(["a"]) } as const;
  expect(await world.startRotation(only).report).toMatchObject({ outcome: "ok" });
});
