import { expect, test } from "vitest";
import type { SandboxOptions } from "../../../src/sandbox/server.ts";
import { expectInSync } from "../in-sync.ts";
import { aWorld, fromEnvironment, idOf, until, type World } from "../world.ts";
import { aDaemon, type RunningDaemon } from "./a-daemon.ts";

const KEY = "the-key-of-the-sign-up-code-0";
const AUTHORIZED = { authorization: `Bearer ${KEY}` };
const NEVER = "0 0 1 1 *";

/** A daemon that has done its first sync, and does no other by itself. */
async function anIdleDaemon(
  tenants: number,
  service: SandboxOptions = {},
): Promise<{ world: World; daemon: RunningDaemon }> {
  const sync_key = fromEnvironment("GROUPSYNC_SYNC_KEY");
  const config = { schedule: NEVER, http: { listen: "127.0.0.1:0", sync_key } };
  const world = await aWorld({ tenants, service, config });
  world.env.GROUPSYNC_SYNC_KEY = KEY;
  const daemon = await aDaemon(world);
  await daemon.ran(1);
  return { world, daemon };
}

test("POST /sync says why a tenant has no token, and the key gets into no log", async () => {
  const { world, daemon } = await anIdleDaemon(1);
  const { query } = world.database;
  await query("INSERT INTO customers (id, company_name, warehouse) VALUES ('a/b', 'Slash', NULL)");
  expect(await daemon.post("/sync/a%2Fb?wait=60s", AUTHORIZED)).toMatchObject({
    status: 409,
    json: { user_group_id: "a/b", outcome: "rejected", code: "VALUE_NULL" },
  });
  expect(await daemon.post("/sync/nobody?wait=60s", AUTHORIZED)).toMatchObject({
    status: 404,
    json: { outcome: "unknown" },
  });
  expect(await daemon.post("/sync/nobody", { authorization: `Bearer ${KEY}x` })).toMatchObject({
    status: 401,
  });
  expect((await world.requests()).total).toBe(1);
  expect((await daemon.program.stop("SIGTERM")).code).toBe(0);
  expect(daemon.program.output()).not.toContain(KEY);
});

test("POST /sync serves a hundred sign-ups at once, each with one call", async () => {
  const { world, daemon } = await anIdleDaemon(1);
  await world.addTenants(2, 101);
  await world.forgetRequests();
  const ids = Array.from({ length: 100 }, (_, n) => idOf(n + 2));
  const replies = await Promise.all(ids.map((id) => daemon.post(`/sync/${id}?wait=60s`, AUTHORIZED)));
  expect(replies).toEqual(
    ids.map((id) => ({ status: 200, json: { user_group_id: id, outcome: "created" } })),
  );
  expect((await world.requests()).total).toBe(100);
  await expectInSync(world);
});

test("a daemon that is told to stop tells the client of POST /sync at once, and stores the token of the call under way", async () => {
  const { world, daemon } = await anIdleDaemon(1, { latency: { min: 1_500, max: 1_500 } });
  await world.addTenants(2, 2);
  await world.forgetRequests();
  const reply = daemon.post(`/sync/${idOf(2)}?wait=60s`, AUTHORIZED);
  await until(async () => idOf(2) in (await world.requests()).by_group);
  const ended = daemon.program.stop("SIGTERM");
  expect(await reply).toMatchObject({ status: 503, json: { code: "INTERRUPTED" } });
  expect((await ended).code).toBe(0);
  expect(await world.stored()).toEqual(await world.live());
});
