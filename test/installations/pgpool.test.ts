import { expect, onTestFinished, test } from "vitest";
import { aWorld } from "../e2e/world.ts";
import { type FreshDatabase, SERVERS } from "../support/databases/fresh-database.ts";
import { LONG } from "../support/long.ts";
import { startPostgres } from "../support/postgres/embedded-postgres.ts";
import { startPgpool } from "../support/postgres/pgpool.ts";
import { startStandby } from "../support/postgres/standby.ts";
import { skipIfNotToBeHad } from "../support/servers/not-to-be-had.ts";

/** pgpool leads about half of all sessions to the standby. */
const ROUNDS = 12;

test.skipIf(!LONG)("pgpool with load balancing has every statement run by the primary", async (context) => {
  const primary = await startPostgres({ settings: { password_encryption: "md5" } });
  onTestFinished(primary.stop);
  const standby = await startStandby(primary, "late", {
    settings: { recovery_min_apply_delay: "1min", log_statement: "all" },
  });
  onTestFinished(standby.stop);
  const pgpool = await startPgpool(primary.url, { loadBalancing: true, standbys: [standby.url] }).catch(
    (error: unknown) => skipIfNotToBeHad(error, context),
  );
  onTestFinished(pgpool.stop);
  const { query, end } = SERVERS.postgres.connect(primary.url);
  onTestFinished(end);
  const database: FreshDatabase = { kind: "postgres", name: "postgres", url: primary.url, query };
  const world = await aWorld({ database, tenants: 5 });
  world.env.DATABASE_URL = Object.assign(new URL(primary.url), { port: String(pgpool.port) }).href;

  for (let from = 6; from < 6 + ROUNDS; from++) {
    const check = await world.run("check");
    expect(check.code, check.stdout).toBe(0);
    const sync = await world.sync();
    expect(sync.code, sync.stderr).toBe(0);
    expect(await world.stored()).toEqual(await world.live());
    await world.addTenants(from, from);
  }
  const reads = standby.log.filter((line) => /FROM .*(groupsync_|customers)/.test(line));
  expect(reads).toEqual([]);
});
