import { expect, test } from "vitest";
import { freshDatabase } from "../../support/databases/fresh-database.ts";
import { LONG } from "../../support/long.ts";
import { behindPgbouncer } from "../../support/postgres/behind-pgbouncer.ts";
import type { PgbouncerOptions } from "../../support/postgres/pgbouncer.ts";
import { aDaemon } from "../daemon/a-daemon.ts";
import { withReader } from "../role.ts";
import { aWorld, type ConfigChanges, type World } from "../world.ts";

type Pooled = readonly [mode: PgbouncerOptions["mode"], poolSize: number];

/** A world before its first sync, whose only url leads to a PgBouncer. */
async function pooled([mode, poolSize]: Pooled, config: ConfigChanges = {}): Promise<World> {
  const database = await freshDatabase("postgres");
  const world = await aWorld({ database, config: { http: { listen: "127.0.0.1:0" }, ...config } });
  world.env.DATABASE_URL = await behindPgbouncer(database.url, { mode, poolSize });
  return world;
}

/** The url by way of the pooler that the world's url leads to. */
const throughPoolerOf = ({ env }: World, url: string): string =>
  Object.assign(new URL(url), { host: new URL(env.DATABASE_URL ?? "").host }).href;

/** What is not well, such as `✗ ledger LEDGER_UNAVAILABLE`. */
const troubleIn = (stdout: string): string[] =>
  [...stdout.matchAll(/^([!✗]) (\w+) +(?:([A-Z_]+): )?/gm)].map(([, ...parts]) => parts.join(" "));

test("statement pooling is a failure of each url", async () => {
  const world = await pooled(["statement", 3]);
  const { code, stdout } = await world.run("check");
  expect(code).toBe(1);
  expect(troubleIn(stdout)).toEqual([
    "✗ source SOURCE_UNAVAILABLE",
    "✗ ledger LEDGER_UNAVAILABLE",
    "✗ tokens TOKEN_STORE_UNAVAILABLE",
  ]);
  expect(stdout).toContain("pool_mode");
  expect((await world.sync()).code).toBe(1);
});

test("a channel in transaction mode is a failure of check, and the daemon says so", async () => {
  const world = await pooled(["transaction", 3], {
    source: { table: "customers", changes: { channel: "customers_changed" } },
  });
  const { code, stdout } = await world.run("check");
  expect(code).toBe(1);
  expect(troubleIn(stdout)).toEqual(["✗ changes CHANGES_NOT_HEARD"]);
  expect(stdout).toContain("source.changes.url");
  const daemon = await aDaemon(world);
  await daemon.says(/^no notification arrives on source\.changes\.channel/);
  await daemon.ran(1);
  expect(daemon.lines().filter(({ msg }) => /listens/.test(msg))).toEqual([]);
  expect(await daemon.program.stop("SIGTERM")).toMatchObject({ code: 0 });
});

test.runIf(LONG).each(["transaction", "session"] as const)(
  "a %s pool of one connection is a failure that names what a sync needs",
  async (mode) => {
    const world = await pooled([mode, 1]);
    const { code, stdout } = await world.run("check");
    expect(code).toBe(1);
    expect(troubleIn(stdout)).toEqual(["✗ connections LEDGER_UNAVAILABLE"]);
    expect(stdout).toMatch(
      /a sync uses 3 connections at once and gets 1; for the ledger: .*\n.*default_pool_size/,
    );
    const synced = await world.sync();
    expect(synced.code).toBe(1);
    expect(synced.stderr).toContain("groupsync check tries that");
  },
);

test.runIf(LONG)("a role that has ledger and tokens alone needs two connections of its own", async () => {
  const world = await pooled(["transaction", 1]);
  await world.configure(await withReader(world));
  world.env.READER_URL = throughPoolerOf(world, world.env.READER_URL ?? "");
  const { code, stdout } = await world.run("check");
  expect(code).toBe(1);
  expect(troubleIn(stdout), stdout).toEqual(["✗ connections LEDGER_UNAVAILABLE"]);
  expect(stdout).toContain("gets 2; for the ledger a second time: ");
});

test.runIf(LONG).each<Pooled>([
  ["transaction", 2],
  ["session", 2],
])("a %s pool of %i connections is a warning, and a sync works", async (...options) => {
  const world = await pooled(options);
  const { code, stdout } = await world.run("check");
  expect(code).toBe(0);
  expect(troubleIn(stdout)).toEqual(["! connections LEDGER_UNAVAILABLE"]);
  expect((await world.sync()).code).toBe(0);
});

test.runIf(LONG).each<Pooled>([
  ["transaction", 3],
  ["session", 3],
])("a %s pool of %i connections is enough", async (...options) => {
  const world = await pooled(options);
  const { code, stdout } = await world.run("check");
  expect(code).toBe(0);
  expect(troubleIn(stdout)).toEqual([]);
  expect((await world.sync()).code).toBe(0);
});
