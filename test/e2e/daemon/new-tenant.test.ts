import { expect, test } from "vitest";
import type { SandboxOptions } from "../../../src/sandbox/server.ts";
import { textOf } from "../../daemon/status-page/shown-page.ts";
import { aWorld, idOf, until, type World } from "../world.ts";
import { aDaemon, signUp, WITH_SYNC_KEY } from "./a-daemon.ts";

const hasTokens = async (world: World, count: number): Promise<void> => {
  await until(async () => Object.keys(await world.stored()).length === count);
  expect(await world.stored()).toEqual(await world.live());
};

/** A daemon that has done its first sync, and does no other by itself. */
async function anIdleDaemon(tenants: number, service: SandboxOptions = {}) {
  const world = await aWorld({ tenants, service, config: WITH_SYNC_KEY });
  const daemon = await aDaemon(world);
  await daemon.ran(1);
  return { world, daemon };
}

test("POST /sync says why a tenant has no token, and the key gets into no log", async () => {
  const { world, daemon } = await anIdleDaemon(1);
  const { query } = world.database;
  await query("INSERT INTO customers (id, company_name, warehouse) VALUES ('a/b', 'Slash', NULL)");
  expect(await signUp(daemon, "a/b")).toMatchObject({
    status: 409,
    json: { user_group_id: "a/b", outcome: "rejected", code: "VALUE_NULL" },
  });
  expect(await signUp(daemon, "nobody")).toMatchObject({
    status: 404,
    json: { outcome: "unknown" },
  });
  expect(await signUp(daemon, "nobody", { key: "another-key-of-thirty-characters" })).toMatchObject({
    status: 401,
  });
  expect((await world.requests()).total).toBe(1);
  expect((await daemon.program.stop("SIGTERM")).code).toBe(0);
  expect(daemon.program.output()).not.toContain(WITH_SYNC_KEY.http.sync_key);
});

test("a daemon that is told to stop tells the client of POST /sync at once, and stores the token of the call under way", async () => {
  const { world, daemon } = await anIdleDaemon(1, { latency: { min: 1_500, max: 1_500 } });
  await world.addTenants(2, 2);
  await world.forgetRequests();
  const reply = signUp(daemon, idOf(2));
  await until(async () => idOf(2) in (await world.requests()).by_group);
  const ended = daemon.program.stop("SIGTERM");
  expect(await reply).toMatchObject({ status: 503, json: { code: "INTERRUPTED" } });
  expect((await ended).code).toBe(0);
  expect(await world.stored()).toEqual(await world.live());
});

test("a row that the change column names is served without a full sync", async () => {
  const world = await aWorld({ tenants: 3 });
  await world.database.query("ALTER TABLE customers ADD COLUMN version bigint NOT NULL DEFAULT 1");
  await world.configure({ ...WITH_SYNC_KEY, source: { changes: { column: "version", every: "200ms" } } });
  const daemon = await aDaemon(world);
  await daemon.ran(1);
  await world.addTenants(4, 4);
  await world.database.query("UPDATE customers SET version = 2 WHERE id = $1", [idOf(4)]);
  await hasTokens(world, 4);
  expect(daemon.runs()).toHaveLength(1);
  await until(async () => (await daemon.page("/metrics")).text.includes("notice_to_token_seconds_count 1\n"));
  expect((await daemon.page("/metrics")).text).toContain('groupsync_noticing_up{feed="column"} 1\n');
  expect(textOf((await daemon.page("/")).text)).toMatch(/Changes \(column\) answered/);
  expect(await daemon.program.stop("SIGTERM")).toMatchObject({ code: 0 });
});

test("an instance without the lease leaves a sign-up for the one that has it, and doesn't wait", async () => {
  const world = await aWorld({ tenants: 3, config: WITH_SYNC_KEY });
  const holder = await aDaemon(world);
  await holder.ran(1);
  const standby = await aDaemon(world);
  await standby.ran(1);
  await world.addTenants(4, 4);
  expect(await signUp(standby, idOf(4))).toMatchObject({ status: 202, json: { outcome: "pending" } });
  expect(await signUp(standby, "a\u0000b")).toMatchObject({ status: 404 });
  await hasTokens(world, 4);
  for (const daemon of [standby, holder])
    expect(await daemon.program.stop("SIGTERM")).toMatchObject({ code: 0 });
});
