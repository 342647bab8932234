import { expect, test } from "vitest";
import { lockTable, untilWaiting } from "../../support/databases/table-lock.ts";
import { aWorld, until, type World } from "../world.ts";
import { endProgramSessions } from "./database-acts.ts";

/** Expects that nothing was lost: once the cause is gone, one sync brings everything in sync. */
async function expectRecovery(world: World): Promise<void> {
  expect(await world.sync()).toMatchObject({ code: 0, report: { outcome: "ok" } });
  expect(await world.stored()).toEqual(await world.live());
}

test("a database that can't be reached fails the run, with a hint", async () => {
  const world = await aWorld({ tenants: 1 });
  const { DATABASE_URL: url = "" } = world.env;
  const nowhere = { username: "me", password: "a-password-of-mine", port: "1" };
  world.env.DATABASE_URL = Object.assign(new URL(url), nowhere).href;
  for (const command of ["sync", "plan", "status"]) {
    const { code, stdout, stderr } = await world.run(command);
    expect(code).toBe(1);
    expect(stdout + stderr).toMatch(/ECONNREFUSED[\s\S]*is the database running/);
    expect(stdout + stderr).not.toContain("a-password-of-mine");
  }
  world.env.DATABASE_URL = url;
  await expectRecovery(world);
});

test("the next sync settles what was under way when connections were cut", async () => {
  const world = await aWorld({ tenants: 200, service: { latency: { min: 100, max: 100 } } });
  const program = world.start("sync", "--json");
  await until(async () => (await world.requests()).total > 10);
  // A session that waits for this lock is in the middle of a transaction.
  const lock = await lockTable(world.database, "groupsync_tokens");
  await untilWaiting(world.database, 1);
  await endProgramSessions(world.database);
  await lock.release();
  const { code, stdout } = await program.ended;
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    outcome: "failed",
    // Tokens and ledger share the transaction, so the statement that is cut may be of either.
    errors: [{ user_group_id: null, code: expect.stringMatching(/^(LEDGER|TOKEN_STORE)_UNAVAILABLE$/) }],
  });
  await world.serve({});
  await expectRecovery(world);
});

test("idle connections that were cut are replaced", async () => {
  const world = await aWorld({ tenants: 9, service: { latency: { min: 1_000, max: 1_000 } } });
  const program = world.start("sync");
  // The first call is made alone. Once it is recorded, the next calls are under way, and no statement runs.
  await until(async () => (await world.requests()).max_in_flight > 1);
  await until(async () => Object.keys(await world.stored()).length === 1);
  await endProgramSessions(world.database);
  expect((await program.ended).code).toBe(0);
  expect(await world.stored()).toEqual(await world.live());
});
