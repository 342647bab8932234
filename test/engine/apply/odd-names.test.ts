import { describe, expect, it } from "vitest";
import { tenants, World } from "../../fakes/world.ts";

/** What services make of names, and names that show it. */
const REWRITINGS: Record<string, { rewrites: (name: string) => string; odd: string; odder: string }> = {
  "cuts names": {
    rewrites: (name) => name.slice(0, 12),
    odd: "A name that is long",
    odder: "A name that is longer",
  },
  "makes letters small": { rewrites: (name) => name.toLowerCase(), odd: "ACME", odder: "ACME Inc." },
  "makes Cyrillic letters small": { rewrites: (name) => name.toLowerCase(), odd: "ПРИВЕТ", odder: "Привет" },
  "escapes HTML": {
    rewrites: (name) => name.replaceAll("&", "&amp;").replaceAll("<", "&lt;"),
    odd: "<Acme>",
    odder: "Acme & <Sons>",
  },
  "has no emoji": {
    rewrites: (name) => name.replace(/\p{Emoji_Presentation}/gu, "?"),
    odd: "Acme 🚀",
    odder: "Acme 🐞",
  },
};

/** "odd" has a name that the service rewrites; "a" and "b" have names that it leaves alone. */
async function aWorld(odd: string, rewrites?: (name: string) => string): Promise<World> {
  const world = new World([
    ...tenants("odd"),
    { id: "a", name: "a", plan: "gold" },
    { id: "b", name: "b", plan: "gold" },
  ]);
  world.service.existing = "update";
  if (rewrites) world.service.rewrites = rewrites;
  row(world, "odd", { name: odd });
  expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { created: 3 } });
  return world;
}

function row(world: World, id: string, fields: Readonly<Record<string, string>>): void {
  world.tenants = world.tenants.map((tenant) => (tenant.id === id ? { ...tenant, ...fields } : tenant));
}

const replan = (world: World, plan: string): void => {
  for (const { id } of world.tenants) row(world, String(id), { plan });
};

const failing = (world: World): string[] =>
  [...world.ledger.rows].flatMap(([id, { failures }]) => (failures.change === null ? [] : [id]));

const HOUR = 3_600_000;
const syncLater = async (world: World) => {
  await world.time.sleep(HOUR);
  return world.sync();
};

describe.each(Object.keys(REWRITINGS))("a service that updates, and %s", (kind) => {
  const { rewrites, odd, odder } = REWRITINGS[kind] ?? { rewrites: String, odd: "", odder: "" };

  it("takes changes of the mapping, before and after it was seen to update", async () => {
    const world = await aWorld(odd, rewrites);
    replan(world, "silver");
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { updated: 3, unverified: 3 } });
    row(world, "a", { name: "renamed" });
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { updated: 1 } });
    expect(world.ledger.service.updates).toBe(true);
    replan(world, "bronze");
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { updated: 3, unverified: 0 } });
  });

  it("takes another such name once it was seen to update", async () => {
    const world = await aWorld(odd, rewrites);
    row(world, "a", { name: "renamed" });
    await world.sync();
    row(world, "odd", { name: odder });
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { updated: 1, unverified: 0 } });
    expect(await world.sync()).toMatchObject({ outcome: "ok", requests: 0 });
  });

  it("costs no other group anything before that", async () => {
    const world = await aWorld(odd, rewrites);
    row(world, "odd", { name: odder });
    await world.sync();
    expect(world.ledger.service.updates).toBeNull();
    replan(world, "silver");
    await syncLater(world);
    expect(failing(world).filter((id) => id !== "odd")).toEqual([]);
  });

  it("may have had the groups before: adopted ones show nothing", async () => {
    const world = await aWorld(odd, rewrites);
    world.ledger.clear();
    await world.sync();
    expect(world.ledger.service.updates).toBeNull();
  });
});

describe("one group that the service keeps", () => {
  it.each([
    [
      "an update was seen to be taken",
      async (world: World) => {
        row(world, "a", { name: "renamed" });
        await world.sync();
      },
    ],
    [
      "a probe has found out that the service updates",
      async (world: World) => void (await world.startProbe().report),
    ],
  ])("fails alone if %s", async (_, shown) => {
    const world = await aWorld("odd");
    await shown(world);
    expect(world.ledger.service.updates).toBe(true);
    world.service.kept.add("odd");
    row(world, "odd", { name: "new" });
    expect(await world.sync()).toMatchObject({
      counts: { failed: 1 },
      errors: [{ user_group_id: "odd", code: "NOT_UPDATED" }],
    });
    replan(world, "silver");
    expect(await syncLater(world)).toMatchObject({ counts: { updated: 2, unverified: 0, failed: 1 } });
  });

  it("is overruled by an update that is seen to be taken", async () => {
    const world = await aWorld("odd");
    world.service.kept.add("odd");
    row(world, "odd", { name: "new" });
    await world.sync();
    expect(world.ledger.service.updates).toBe(false);
    row(world, "a", { name: "renamed" });
    await syncLater(world);
    expect(world.ledger.service.updates).toBe(true);
  });
});

it("a service that only repeats the name is not taken for one that updates once a probe has found that out", async () => {
  const world = await aWorld("odd");
  world.service.existing = "keep";
  world.service.repeatsName = true;
  await world.startProbe().report;
  expect(world.ledger.service.updates).toBe(false);
  row(world, "a", { name: "renamed" });
  expect(await world.sync()).toMatchObject({
    counts: { failed: 1 },
    errors: [{ user_group_id: "a", code: "NOT_UPDATED" }],
  });
  expect(world.ledger.service.updates).toBe(false);
});
