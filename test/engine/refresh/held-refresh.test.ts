import { expect, test } from "vitest";
import { refreshCode } from "../../../src/core/drift/refresh.ts";
import type { DeletionLimit } from "../../../src/core/plan/deletion-policy.ts";
import { heldRefresh } from "../../../src/engine/refresh/held-refresh.ts";
import { Instance } from "../../fakes/instance.ts";
import { VirtualClock } from "../../fakes/virtual-time.ts";
import { aSyncedWorld, type World } from "../../fakes/world.ts";

const HOUR = 3_600_000;
const THREE: DeletionLimit = { count: 3, percent: 0 };
const IDS = Array.from({ length: 20 }, (_, index) => `t${index + 10}`);

/** A world with 20 groups, of which refreshes have found some gone, one after the other. */
async function worldWithGone(count: number): Promise<World> {
  const world = await aSyncedWorld(IDS);
  for (const user_group_id of IDS.slice(0, count)) {
    await world.time.sleep(HOUR);
    world.ledger.enter({ kind: "gone", user_group_id, at: world.time.now() });
  }
  return world;
}

/** What would hold a refresh that began now, and what the ledger was asked for. */
async function lookIn(world: World, limit = THREE, name = "default") {
  const asked: string[] = [];
  const { ledger } = world.ports(
    new Instance({ at: ({ when, call }) => void (when === "before" && asked.push(call)) }),
    new VirtualClock(world.time),
  );
  return { hold: await heldRefresh(ledger, { name, deletion: { limit } }, world.time.now()), asked };
}

const holdOf = async (...which: Parameters<typeof lookIn>) => (await lookIn(...which)).hold;

test("as many groups as deletion.limit allows may be gone, and one more holds the refresh", async () => {
  expect(await holdOf(await worldWithGone(3))).toBeNull();
  const world = await worldWithGone(4);
  const last = world.ledger.found.at(-1) ?? null;
  expect(await holdOf(world)).toEqual({
    changed: 4,
    owned: 20,
    allowed: 3,
    approval: refreshCode("default", { count: 4, last }),
  });
  expect(await holdOf(world, { count: 0, percent: 20 })).toBeNull();
  expect(await holdOf(world, { count: 0, percent: 19 })).toMatchObject({ allowed: 3 });
});

test("groups that were gone a day ago count no more, and neither do those that the operator has approved", async () => {
  const world = await worldWithGone(4);
  await world.time.sleep(21 * HOUR);
  expect(await holdOf(world)).toMatchObject({ changed: 4 });
  await world.time.sleep(1);
  expect(await holdOf(world)).toBeNull();
  const approved = await worldWithGone(4);
  approved.ledger.refreshApproved = approved.ledger.journal.at(-1)?.id ?? null;
  expect(await holdOf(approved)).toBeNull();
});

test("the code is of one scope, and good until another group is found gone", async () => {
  const world = await worldWithGone(4);
  const code = (await holdOf(world))?.approval;
  expect((await holdOf(world, THREE, "another"))?.approval).not.toBe(code);
  world.ledger.enter({ kind: "gone", user_group_id: "t29", at: world.time.now() });
  expect((await holdOf(world))?.approval).not.toBe(code);
});

test("if no group was gone, nobody counts the groups", async () => {
  expect(await lookIn(await worldWithGone(0))).toEqual({ hold: null, asked: ["scope", "journalSum"] });
});
