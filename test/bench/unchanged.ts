import type { BenchDatabase } from "./databases.ts";
import { median, type ProgramRun, runSync, startService, withFolder, writeConfig } from "./world.ts";

const SMALL = 100_000;
const LARGE = 1_000_000;
const ROUNDS = 3;

/**
 * (b) A sync with nothing to do, against a plain read of the same rows in the same order: whole processes,
 * start to end. And the memory at a tenth of the tenants beside the memory at all of them.
 */
export async function benchUnchanged(start: () => Promise<BenchDatabase>): Promise<void> {
  await withFolder(async (folder) => {
    const database = await start();
    const service = await startService(folder);
    try {
      const config = writeConfig(folder, database.url, service, 16);
      await inSync(database, config, SMALL);
      const small = await rounds(() => runSync(config));
      await inSync(database, config, LARGE);
      const reads: number[] = [];
      const large = await rounds(async () => {
        reads.push(database.readSeconds());
        return runSync(config);
      });

      const ratio = median(large.map((run, round) => run.wallMs / 1000 / (reads[round] ?? Number.NaN)));
      const rss = median(large.map((run) => run.peakRssMb));
      const growth = rss / median(small.map((run) => run.peakRssMb));
      const requests = [...small, ...large].reduce((sum, run) => sum + run.requests, 0);
      console.log(
        `(b) a sync with nothing to do at ${LARGE} tenants in ${database.name}, ${ROUNDS} rounds, medians of whole processes`,
      );
      console.log(`    groupsync      ${(median(large.map((run) => run.wallMs)) / 1000).toFixed(1)} s`);
      console.log(
        `    ${database.reader}  ${median(reads).toFixed(1)} s, ratio ${ratio.toFixed(2)} (at most 3)`,
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

/** The state after a first sync of `count` tenants. */
async function inSync(database: BenchDatabase, config: string, count: number): Promise<void> {
  await database.createCustomers(count);
  await runSync(config);
  await database.tidy();
}
