import { describe, expect, it } from "vitest";
import type { RunEvent } from "../../../src/ports/observer.ts";
import { tenants, World } from "../../fakes/world.ts";
import { aSession } from "../serving/a-session.ts";

/** What a sync says of rejected rows. */
async function said(world: World, only?: string[]): Promise<string[]> {
  const { events, report } = world.start({ only: only && new Set(only) });
  await report;
  return inWords(events);
}

const inWords = (events: readonly RunEvent[]): string[] =>
  events.flatMap((event) =>
    event.kind === "rejected" || event.kind === "accepted"
      ? [`${event.kind} ${event.rejection.user_group_id} ${event.rejection.code} ${event.rejection.rows}`]
      : [],
  );

const remembered = (world: World) =>
  world.ledger.rejections.map(({ user_group_id, code, rows }) => [user_group_id, code, rows]);

const A_IS_NAMELESS = { id: "a", name: null };

describe("a sync", () => {
  it("says once which rows are rejected, remembers them, and says once that they are no more", async () => {
    const world = new World([A_IS_NAMELESS, ...tenants("b"), { id: null }, { id: null }]);
    expect(await said(world)).toEqual(["rejected a VALUE_NULL 1", "rejected null ID_NULL 2"]);
    const before = world.ledger.rejections;
    expect(before.map(({ user_group_id, rows }) => [user_group_id, rows])).toEqual([
      [null, 2],
      ["a", 1],
    ]);

    await world.time.sleep(60_000);
    const report = await world.sync();
    expect(report).toMatchObject({ outcome: "partial", counts: { rejected: 3 } });
    expect(report.errors).toHaveLength(3);
    expect(await said(world)).toEqual([]);
    expect(world.ledger.rejections).toEqual(before);

    world.tenants = tenants("a", "b");
    expect(await said(world)).toEqual(["accepted a VALUE_NULL 1", "accepted null ID_NULL 2"]);
    expect(remembered(world)).toEqual([]);
  });

  it("says it again if a row is rejected for another reason, but not that it was accepted", async () => {
    const world = new World([A_IS_NAMELESS, ...tenants("b")]);
    await world.sync();
    world.tenants = [...tenants("a"), ...tenants("a", "b")];
    expect(await said(world)).toEqual(["rejected a ID_DUPLICATE 1"]);
    expect(remembered(world)).toEqual([["a", "ID_DUPLICATE", 1]]);
  });

  it("goes on to see a rejected row in whose bucket nothing else differs", async () => {
    const world = new World(tenants("a", "b"));
    await world.sync();
    // A removed row is in no sum, so at first nobody sees that the id is there twice.
    const twice = [...world.tenants, { id: "a", removed: true }];
    world.tenants = twice;
    expect((await world.sync({ only: new Set(["a"]) })).counts).toMatchObject({ rejected: 1 });
    for (let n = 0; n < 2; n++)
      expect((await world.sync()).counts).toMatchObject({ rejected: 1, unchanged: 1 });
    expect(remembered(world)).toEqual([["a", "ID_DUPLICATE", 1]]);
  });

  it("of some tenants keeps what is remembered of these right, and leaves the others alone", async () => {
    const world = new World([A_IS_NAMELESS, { id: "b", name: null }, ...tenants("c")]);
    await world.sync();
    world.tenants = [...tenants("a", "b"), { id: "c", name: null }];
    expect(await said(world, ["a"])).toEqual(["accepted a VALUE_NULL 1"]);
    expect(remembered(world)).toEqual([["b", "VALUE_NULL", 1]]);
    expect(await said(world, ["c"])).toEqual(["rejected c VALUE_NULL 1"]);
    expect(remembered(world)).toEqual([
      ["b", "VALUE_NULL", 1],
      ["c", "VALUE_NULL", 1],
    ]);
  });
});

it("a look at one tenant keeps what is remembered of it right", async () => {
  const world = new World(tenants("a", "b"));
  const session = aSession(world);
  await session.run;
  world.tenants[0] = A_IS_NAMELESS;
  expect(await session.serve("a")).toMatchObject({ kind: "conflict", outcome: "rejected" });
  await world.time.sleep(1_000);
  expect(remembered(world)).toEqual([["a", "VALUE_NULL", 1]]);
  world.tenants.splice(0, 1, ...tenants("a"));
  await session.serve("a");
  await world.time.sleep(1_000);
  expect(remembered(world)).toEqual([]);
  await session.end();
});
