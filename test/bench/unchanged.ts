import { execFileSync } from "node:child_process";
import pg from "pg";
import { startPostgres } from "../support/embedded-postgres.ts";
import { createCustomers } from "./customers.ts";
import { median, type ProgramRun, runSync, startService, withFolder, writeConfig } from "./world.ts";

const SMALL = 100_000;
const LARGE = 1_000_000;
const ROUNDS = 3;

/**
 * (b) A sync with nothing to do, against `psql \copy` of the same rows in the same order: whole processes,
 * start to end. And the memory at a tenth of the tenants beside the memory at all of them.
 */
export async function benchUnchanged(): Promise<void> {
  await withFolder(async (folder) => {
    const database = await startPostgres({ durable: true, settings: { max_wal_size: "4GB" } });
    const service = await startService(folder);
    try {
      const config = writeConfig(folder, database.url, service, 16);
      await inSync(database.url, config, SMALL);
      const small = await rounds(() => runSync(config));
      await inSync(database.url, config, LARGE);
      const copies: number[] = [];
      const large = await rounds(async () => {
        copies.push(copySeconds(database.url));
        return runSync(config);
      });

      const ratio = median(large.map((run, round) => run.wallMs / 1000 / (copies[round] ?? Number.NaN)));
      const rss = median(large.map((run) => run.peakRssMb));
      const growth = rss / median(small.map((run) => run.peakRssMb));
      const requests = [...small, ...large].reduce((sum, run) => sum + run.requests, 0);
      console.log(
        `(b) a sync with nothing to do at ${LARGE} tenants, ${ROUNDS} rounds, medians of whole processes`,
      );
      console.log(`    groupsync      ${(median(large.map((run) => run.wallMs)) / 1000).toFixed(1)} s`);
      console.log(
        `    psql \\copy     ${median(copies).toFixed(1)} s, ratio ${ratio.toFixed(2)} (at most 3)`,
      );
      console.log(
        `    peak RSS       ${rss.toFixed(0)} MB (at most 200), ${growth.toFixed(2)} times that at ${SMALL} (at most 1.15)`,
      );
      console.log(`    requests sent  ${requests} (0)`);
    } finally {
      await service.stop();
      await database.stop();
    }
  });
}

async function rounds(run: () => Promise<ProgramRun>): Promise<ProgramRun[]> {
  const runs: ProgramRun[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    const result = await run();
    if (result.outcome !== "ok") throw new Error(`the sync ended ${result.outcome}`);
    runs.push(result);
  }
  return runs;
}

/** The state after a first sync of `count` tenants, its tables as tidy as autovacuum would have them. */
async function inSync(databaseUrl: string, config: string, count: number): Promise<void> {
  await createCustomers(databaseUrl, count);
  await runSync(config);
  const client = new pg.Client(databaseUrl);
  await client.connect();
  await client.query("VACUUM ANALYZE groupsync_groups");
  await client.end();
}

function copySeconds(databaseUrl: string): number {
  const startedAt = performance.now();
  const rows = `SELECT id, company_name, data_source_id, plan, seats FROM customers ORDER BY id COLLATE "C"`;
  execFileSync("psql", [databaseUrl, "-qc", `\\copy (${rows}) TO '/dev/null'`], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  return (performance.now() - startedAt) / 1000;
}
