import { expect, test } from "vitest";
import type { Point } from "../../fakes/instance.ts";
import { aSyncedWorld, tenants, World } from "../../fakes/world.ts";

const SHARED = { code: "TOKEN_SHARED" };

/** A service that gives b the token of a, and goes by tokens alone. */
async function sharing(...ids: string[]): Promise<World> {
  const world = new World(tenants(...ids));
  world.service.deleteBy = "token";
  world.service.sameToken.set("b", "a");
  return world;
}

const destructive = (world: World): string[] =>
  world.service.requests.flatMap(({ operation, id }) => (operation === "GET" ? [] : [`${operation} ${id}`]));

test.each([
  ["outside of the ledger's database", false],
  ["in the ledger's database", true],
])("the second group with a token fails, and its token is not stored %s", async (_, sharesLedger) => {
  const world = await sharing("a", "b", "c");
  world.store.sharesLedger = sharesLedger;
  expect(await world.sync()).toMatchObject({
    outcome: "partial",
    counts: { created: 2, failed: 1 },
    errors: [{ user_group_id: "b", ...SHARED }],
  });
  expect([...world.store.tokens.keys()].sort()).toEqual(["a", "c"]);
  world.tenants = tenants("a", "b", "c", "d");
  expect(await world.sync()).toMatchObject({ counts: { created: 1, failed: 1 }, errors: [SHARED] });
  expect([...world.store.tokens.keys()].sort()).toEqual(["a", "c", "d"]);
});

test.each<[by: string, told: (world: World) => Promise<unknown>]>([
  ["a refresh", (world) => world.sync({ refresh: true })],
  ["a rotation", (world) => world.rotate({ kind: "only", ids: new Set(["b"]) })],
])("a token that another group had before is refused too, if %s tells it", async (_, told) => {
  const world = await aSyncedWorld(["a", "b"]);
  const former = world.service.tokens.get("a") ?? "";
  await world.rotate({ kind: "only", ids: new Set(["a"]) });
  const stored = world.store.tokens.get("b");
  await world.time.sleep(1_000);
  world.service.newToken = () => former;
  const held = world.service.groups.get("b");
  if (held) held.token = former;
  expect(await told(world)).toMatchObject({ outcome: "partial", errors: [SHARED] });
  expect(world.store.tokens.get("b")).toBe(stored);
});

test("so does one that comes later, and one that is updated", async () => {
  const world = await sharing("a", "c");
  await world.sync();
  world.service.existing = "update";
  const held = world.service.groups.get("c");
  if (held) held.token = world.service.tokens.get("a") ?? "";
  world.tenants = [...tenants("a", "b"), { id: "c", name: "New", plan: "gold" }];
  const report = await world.sync();
  expect(report).toMatchObject({ outcome: "partial", counts: { failed: 2 } });
  expect(report.errors.map(({ user_group_id, code }) => `${user_group_id} ${code}`).sort()).toEqual([
    "b TOKEN_SHARED",
    "c TOKEN_SHARED",
  ]);
});

test.each(["a", "b"])("no DELETE is sent for %s with a token that another group has, too", async (gone) => {
  const world = await sharing("a", "b", "c");
  await world.sync();
  world.tenants = tenants(...["a", "b", "c"].filter((id) => id !== gone));
  for (let sync = 0; sync < 3; sync++) await world.sync();
  expect(destructive(world)).toEqual([]);
  expect([...world.service.groups.keys()].sort()).toEqual(["a", "b", "c"]);
});

test("no POST is sent with it, and the others are rotated", async () => {
  const world = await sharing("a", "b", "c");
  await world.sync();
  const before = world.service.tokens.get("a");
  expect(await world.startRotation({ kind: "all" }).report).toMatchObject({ outcome: "partial" });
  expect(destructive(world)).toEqual(["POST c"]);
  expect(world.service.tokens.get("a")).toBe(before);
  expect(world.store.tokens.get("a")).toBe(before);
  expect(world.store.tokens.has("b")).toBe(false);
});

test("a rotation that is answered with the token of another group has failed, and stores nothing", async () => {
  const world = await sharing("a", "c");
  await world.sync();
  const token = world.store.tokens.get("c");
  world.service.sameToken.set("c", "a");
  expect(await world.startRotation({ kind: "only", ids: new Set(["c"]) }).report).toMatchObject({
    outcome: "partial",
    counts: { rotated: 0, failed: 1 },
    errors: [{ user_group_id: "c", ...SHARED }],
  });
  expect(world.store.tokens.get("c")).toBe(token);
});

test("of two rotations at once that are answered with one token, one has failed, and stores nothing", async () => {
  const world = new World(tenants("a", "b"));
  await world.sync();
  const former = new Map(world.store.tokens);
  world.service.newToken = () => "the same";
  const rotation = { maxAgeMs: null, window: null, maxPerRun: null, concurrency: 2 };
  const at = async ({ when, call }: Point): Promise<void> => {
    if (when === "after" && call === "writeTokens") await world.time.sleep(1_000);
  };
  const report = await world.rotate({ kind: "all" }, { settings: { rotation }, at });
  expect(report).toMatchObject({ counts: { rotated: 1, failed: 1 }, errors: [SHARED] });
  const stored = [...world.store.tokens].filter(([id, token]) => token !== former.get(id));
  expect(stored).toHaveLength(1);
});

/** Of c, whose group the service has given the token of a since then. */
const nowShared = (world: World): void => {
  const held = world.service.groups.get("c");
  if (held) held.token = world.service.tokens.get("a") ?? "";
};

const withoutA = async (world: World): Promise<void> => {
  world.tenants = world.tenants.filter(({ id }) => id !== "a");
  await world.sync();
  expect(destructive(world).filter((request) => request.startsWith("DELETE"))).toEqual([]);
};

test.each([
  ["by a GET, because no store has its token", (world: World) => world.store.tokens.delete("c")],
  ["once its POST was refused", () => {}],
])("a rotation that is told of it %s has it known to all, and is asked for again", async (_, change) => {
  const world = await sharing("a", "c");
  await world.sync();
  nowShared(world);
  change(world);
  expect(await world.startRotation({ kind: "only", ids: new Set(["c"]) }).report).toMatchObject({
    errors: [{ user_group_id: "c", ...SHARED }],
  });
  expect(world.ledger.rows.get("c")?.intent).toBe("rotate");
  await withoutA(world);
});

test("a rotation that is told of it leaves that group as it is", async () => {
  const world = await sharing("a", "c");
  world.service.existing = "update";
  await world.sync();
  nowShared(world);
  await world.rotate({ kind: "only", ids: new Set(["c"]) });
  world.tenants = [{ id: "a", name: "New", plan: "gold" }, ...tenants("c")];
  expect((await world.sync()).errors.map(({ user_group_id }) => user_group_id)).toEqual(["c"]);
});

test("so has a sync that asks what became of a rotation", async () => {
  const world = await sharing("a", "c", "d");
  await world.sync();
  const started = world.startRotation(
    { kind: "only", ids: new Set(["c"]) },
    { at: ({ call, when }) => void (call === "rotate" && when === "before" && started.instance.kill()) },
  );
  expect(await started.report).toBe("died");
  nowShared(world);
  world.tenants = [...tenants("a", "d"), { id: "c", name: null, plan: "gold" }];
  expect((await world.sync()).errors).toContainEqual(
    expect.objectContaining({ user_group_id: "c", ...SHARED }),
  );
  await withoutA(world);
});

test("once the service has given it a token of its own, all is well", async () => {
  const world = await sharing("a", "b", "c");
  await world.sync();
  const held = world.service.groups.get("b");
  if (held) held.token = "its own";
  expect(await world.sync()).toMatchObject({ outcome: "ok" });
  expect(world.store.tokens).toEqual(world.service.tokens);
  world.tenants = tenants("b", "c");
  expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { deleted: 1 } });
});
