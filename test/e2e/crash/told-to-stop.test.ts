import { expect, test } from "vitest";
import { lockTable, untilWaiting } from "../../support/databases/table-lock.ts";
import { aWorld } from "../world.ts";

const TOLD = "told to stop before it was done";

const CASES = [
  ["sync", "groupsync_migrations", "the first read of the ledger", 1, TOLD],
  ["sync", "groupsync_leases", "the lease", 1, TOLD],
  ["sync", "customers", "the source", 1, TOLD],
  ["rotate --all", "groupsync_groups", "the ledger's groups", 1, TOLD],
  ["plan", "customers", "the source", 1, TOLD],
  ["status", "groupsync_runs", "the ledger's history", 1, TOLD],
  ["run", "customers", "the source", 0, "stopping: no new call starts"],
] as const;

test("SIGTERM ends every command in time while somebody keeps locked what it waits for", async () => {
  const worlds = [];
  for (const [command, table] of CASES) {
    const world = await aWorld({ tenants: 2, config: { http: { listen: "off" } } });
    expect((await world.sync()).code).toBe(0);
    await world.database.query("UPDATE customers SET plan = 'silver'");
    await lockTable(world.database, table);
    worlds.push({ world, command });
  }
  // Some give up after five seconds, so start them together.
  const waiting = worlds.map(({ world, command }) => ({
    database: world.database,
    program: world.start(...command.split(" ")),
  }));
  for (const { database } of waiting) await untilWaiting(database, 1);

  // All at once: some need seconds to end.
  const ends = await Promise.all(waiting.map(({ program }) => program.stop("SIGTERM")));
  const ended = ends.map(({ code, stdout, stderr }, n) => ({ case: CASES[n], code, said: stdout + stderr }));
  expect(ended).toEqual(
    CASES.map((one) => ({ case: one, code: one[3], said: expect.stringContaining(one[4]) })),
  );
  for (const { database } of waiting) await untilWaiting(database, 0);
});
