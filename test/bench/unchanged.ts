import type { DatabaseKind } from "../support/databases/database-server.ts";
import { type Bench, type Benchmark, benchmark, median } from "./benchmark.ts";
import { writeConfig } from "./config.ts";
import type { Measured } from "./program.ts";
import { measuredSync, type Service, withService } from "./service.ts";
import { createSyncedCustomers } from "./synced-customers.ts";

interface Sizes {
  readonly tenants: number;
  /** Of how many the memory is compared with. */
  readonly fewerTenants: number;
  readonly rounds: number;
  /** The most that a sync with nothing to do should take, compared with a plain read. */
  readonly atMost: number;
}

interface Round {
  /** A plain read of the same rows. */
  readonly readMs: number;
  readonly nothingToDo: Measured;
  readonly oneChange: Measured;
}

/**
 * (b) The time of a sync with nothing to do, compared with a plain read of the same rows in the same order, and with a
 * sync after one row has changed; each is a whole process. Also the memory, compared with that for fewer tenants.
 */
export const unchangedOn = (server: DatabaseKind, full: Sizes): Benchmark =>
  benchmark<Sizes>({
    server,
    full,
    tiny: { tenants: 20, fewerTenants: 2, rounds: 1, atMost: 0 },

    async run(bench, { tenants, fewerTenants, rounds, atMost }) {
      const [fewer, all] = await withService(["--existing", "update"], async (service) => [
        await measuredRounds(bench, service, fewerTenants, rounds),
        await measuredRounds(bench, service, tenants, rounds),
      ]);

      const medianOf = (value: (round: Round) => number) => median(all.map(value));
      const seconds = (value: (round: Round) => number) => (medianOf(value) / 1000).toFixed(1);
      const overRead = medianOf(({ nothingToDo, readMs }) => nothingToDo.wallMs / readMs).toFixed(2);
      const overNothing = medianOf(({ oneChange, nothingToDo }) => oneChange.wallMs / nothingToDo.wallMs);
      const rss = medianOf(({ nothingToDo }) => nothingToDo.peakRssMb);
      const growth = (rss / median(fewer.map(({ nothingToDo }) => nothingToDo.peakRssMb))).toFixed(2);
      const { name, reader } = bench.database;
      bench.print(
        `(b) a sync with nothing to do at ${tenants} tenants in ${name}, ${rounds} rounds, medians of whole processes`,
      );
      bench.print(`    ${reader}  ${seconds(({ readMs }) => readMs)} s`);
      bench.print(
        `    groupsync      ${seconds(({ nothingToDo }) => nothingToDo.wallMs)} s, ratio ${overRead} (at most ${atMost})`,
      );
      bench.print(
        `    peak RSS       ${rss.toFixed(0)} MB, ${growth} times that at ${fewerTenants} (at most 1.15)`,
      );
      bench.print(
        `    with one row changed  ${seconds(({ oneChange }) => oneChange.wallMs)} s, ratio ${overNothing.toFixed(2)} (at most 1.2)`,
      );
    },
  });

async function measuredRounds(
  bench: Bench,
  service: Service,
  tenants: number,
  rounds: number,
): Promise<Round[]> {
  const { database, folder } = bench;
  const config = writeConfig(folder, database.url, service, 16);
  await createSyncedCustomers(bench.database, service, config, { tenants, made: 1 });
  const results: Round[] = [];
  for (let round = 1; round <= rounds; round++) {
    const startedAt = performance.now();
    await database.read();
    const readMs = performance.now() - startedAt;
    const nothingToDo = await measuredSync(service, config, 0);
    await database.renameCustomers(1);
    const oneChange = await measuredSync(service, config, 1);
    results.push({ readMs, nothingToDo, oneChange });
  }
  return results;
}
