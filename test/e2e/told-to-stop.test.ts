import { expect, test } from "vitest";
import { lockTable, untilWaiting } from "../support/table-lock.ts";
import { aWorld } from "./world.ts";

test.each([
  ["sync", "groupsync_migrations", "the first read of the ledger"],
  ["sync", "groupsync_leases", "the lease"],
  ["sync", "customers", "the source"],
  ["rotate --all", "groupsync_groups", "the ledger's groups"],
  ["plan", "customers", "the source"],
  ["status", "groupsync_runs", "the ledger's history"],
])("SIGTERM ends %s while somebody keeps %s locked: %s", async (command, table) => {
  const world = await aWorld({ tenants: 2 });
  expect((await world.sync()).code).toBe(0);
  await world.database.query("UPDATE customers SET plan = 'silver'");
  await lockTable(world.database, table);
  const program = world.start(...command.split(" "));
  await untilWaiting(world.database, 1);
  const { code, stdout, stderr } = await program.stop("SIGTERM");
  expect({ code, said: stdout + stderr }).toEqual({
    code: 1,
    said: expect.stringContaining("told to stop before it was done"),
  });
  await untilWaiting(world.database, 0);
});

test("SIGTERM ends a daemon in time while somebody keeps the source locked", async () => {
  const world = await aWorld({ tenants: 2, config: { http: { listen: "off" } } });
  expect((await world.sync()).code).toBe(0);
  await lockTable(world.database, "customers");
  const program = world.start("run");
  await untilWaiting(world.database, 1);
  expect(await program.stop("SIGTERM")).toMatchObject({ code: 0 });
});
