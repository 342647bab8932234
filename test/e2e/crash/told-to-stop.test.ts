import { expect, test } from "vitest";
import { lockTable, untilWaiting } from "../../support/databases/table-lock.ts";
import type { Program } from "../program.ts";
import { aWorld, type World } from "../world.ts";

const TOLD = "told to stop before it was done";

const CASES = [
  ["sync", "groupsync_migrations", "the first read of the ledger", 1, TOLD],
  ["sync", "groupsync_leases", "the lease", 1, TOLD],
  ["sync", "customers", "the source", 1, TOLD],
  ["rotate --all --yes", "groupsync_groups", "the ledger's groups", 1, TOLD],
  ["plan", "customers", "the source", 1, TOLD],
  ["run", "customers", "the source", 0, "stopping: no new call starts"],
  ["status", "groupsync_runs", "the ledger's history", 1, TOLD],
] as const;

test("SIGTERM ends every command in time while somebody keeps locked what it waits for", async () => {
  const worlds: { readonly world: World; readonly command: string }[] = [];
  for (const [command, table] of CASES) {
    const world = await aWorld({ tenants: 2, config: { http: { listen: "off" } } });
    expect((await world.sync()).code).toBe(0);
    await world.database.query("UPDATE customers SET plan = 'silver'");
    await lockTable(world.database, table);
    worlds.push({ world, command });
  }
  const programs: Program[] = [];
  const startAll = async (of: (command: string) => boolean): Promise<void> => {
    const started = worlds.filter(({ command }) => of(command));
    programs.push(...started.map(({ world, command }) => world.start(...command.split(" "))));
    for (const { world } of started) await untilWaiting(world.database, 1);
  };
  // `status` gives up after five seconds, so start it last.
  await startAll((command) => command !== "status");
  await startAll((command) => command === "status");

  // All at once: some need seconds to end.
  const ends = await Promise.all(programs.map((program) => program.stop("SIGTERM")));
  const ended = ends.map(({ code, stdout, stderr }, n) => ({ case: CASES[n], code, said: stdout + stderr }));
  expect(ended).toEqual(
    CASES.map((one) => ({ case: one, code: one[3], said: expect.stringContaining(one[4]) })),
  );
  for (const { world } of worlds) await untilWaiting(world.database, 0);
});
