import { expect, it } from "vitest";
import { aSyncedWorld } from "../../fakes/world.ts";
import { aSession, asked, slow } from "./a-session.ts";

/** The ledger went back in time, and lost the tokens of later rotations. */
async function aRewoundWorld() {
  const world = await aSyncedWorld(["a", "b", "c"]);
  for (const [id, held] of world.service.groups) held.token = world.service.newToken(id);
  for (const [id, row] of world.ledger.rows) world.ledger.rows.set(id, { ...row, doubt: "rewind" });
  world.service.requests.length = 0;
  return slow(world, 1_000);
}

it("whoever asks for a tenant in doubt gets an answer once the live token is stored", async () => {
  const world = await aRewoundWorld();
  const session = aSession(world, { settings: { concurrency: 1 } });
  expect(await session.serve("c")).toEqual({ kind: "done", outcome: "restored" });
  expect(world.store.tokens.get("c")).toBe(world.service.tokens.get("c"));
  await session.run;
  expect(asked(world).sort()).toEqual(["a", "b", "c"]);
  expect(world.store.tokens).toEqual(world.service.tokens);
});

it("a held replacement keeps no tenant in doubt from being asked about once its row is put back", async () => {
  const world = await aRewoundWorld();
  for (const [id, row] of world.ledger.rows) world.ledger.rows.set(id, { ...row, held: "replace" });
  const session = aSession(world);
  await session.serve("c");
  expect(world.store.tokens.get("c")).toBe(world.service.tokens.get("c"));
  expect(world.ledger.rows.get("c")).toMatchObject({ held: null, doubt: null });
  await session.run;
});

it("no answer is good about a tenant in doubt if the service must not be asked", async () => {
  const world = await aRewoundWorld();
  const session = aSession(world, { settings: { update: "never" } });
  expect(await session.serve("c")).toMatchObject({ kind: "conflict", outcome: "waiting", code: "IN_DOUBT" });
  expect(world.service.requests).toEqual([]);
});
