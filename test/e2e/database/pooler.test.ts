import { expect, test } from "vitest";
import { freshDatabase } from "../../support/databases/fresh-database.ts";
import type { PgbouncerOptions } from "../../support/postgres/pgbouncer.ts";
import { behindPgbouncer } from "../../support/postgres/pgbouncer.ts";
import { aDaemon } from "../daemon/a-daemon.ts";
import { aWorld, type ConfigChanges, type World } from "../world.ts";

/**
 * A world before its first sync, whose only url leads to a PgBouncer. What pools of each size make of `check` and of a sync
 * is shown by the installations.
 */
async function pooled(mode: PgbouncerOptions["mode"], config: ConfigChanges = {}): Promise<World> {
  const database = await freshDatabase("postgres");
  const world = await aWorld({ database, config: { http: { listen: "127.0.0.1:0" }, ...config } });
  world.env.DATABASE_URL = await behindPgbouncer(database.url, { mode, poolSize: 3 });
  return world;
}

/** What is not well, such as `✗ ledger LEDGER_UNAVAILABLE`. */
const problemsIn = (stdout: string): string[] =>
  [...stdout.matchAll(/^([!✗]) (\w+) +(?:([A-Z_]+): )?/gm)].map(([, ...parts]) => parts.join(" "));

test("statement pooling is a failure of each url", async () => {
  const world = await pooled("statement");
  const { code, stdout } = await world.run("check");
  expect(code).toBe(1);
  expect(problemsIn(stdout)).toEqual([
    "✗ source SOURCE_UNAVAILABLE",
    "✗ ledger LEDGER_UNAVAILABLE",
    "✗ tokens TOKEN_STORE_UNAVAILABLE",
    "✗ plan SOURCE_UNAVAILABLE",
  ]);
  expect(stdout).toContain("pool_mode");
  expect((await world.sync()).code).toBe(1);
});

test("a channel in transaction mode is a failure of check, and the daemon says so", async () => {
  const world = await pooled("transaction", {
    source: { table: "customers", changes: { channel: "customers_changed" } },
  });
  const { code, stdout } = await world.run("check");
  expect(code).toBe(1);
  expect(problemsIn(stdout)).toEqual(["✗ changes CHANGES_NOT_HEARD"]);
  expect(stdout).toContain("source.changes.url");
  const daemon = await aDaemon(world);
  await daemon.says(/^no notification arrives on source\.changes\.channel/);
  await daemon.ran(1);
  expect(daemon.lines().filter(({ msg }) => /listens/.test(msg))).toEqual([]);
  expect(await daemon.program.stop("SIGTERM")).toMatchObject({ code: 0 });
});
