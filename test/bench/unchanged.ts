import { type Bench, type Benchmark, benchmark, median } from "./benchmark.ts";
import { writeConfig } from "./config.ts";
import type { DatabaseKind } from "./databases.ts";
import { type Measured, measured } from "./program.ts";
import { type Service, withService } from "./service.ts";

interface Sizes {
  readonly tenants: number;
  /** Of how many the memory is compared with. */
  readonly fewerTenants: number;
  readonly rounds: number;
}

/** A sync, and the time that a plain read of the same rows took just before it. */
interface Round extends Measured {
  readonly readMs: number;
}

/**
 * (b) The time of a sync with nothing to do, compared with a plain read of the same rows in the same order, both as
 * whole processes. Also the memory with all tenants, compared with the memory with a tenth of them.
 */
export const unchangedOn = (server: DatabaseKind): Benchmark =>
  benchmark<Sizes>({
    server,
    full: { tenants: 1_000_000, fewerTenants: 100_000, rounds: 3 },
    tiny: { tenants: 20, fewerTenants: 2, rounds: 1 },

    async run(bench, { tenants, fewerTenants, rounds }) {
      const [fewer, all] = await withService(bench, [], async (service) => [
        await syncsWithNothingToDo(bench, service, fewerTenants, rounds),
        await syncsWithNothingToDo(bench, service, tenants, rounds),
      ]);

      const seconds = (key: "wallMs" | "readMs") => (median(all.map((run) => run[key])) / 1000).toFixed(1);
      const ratio = median(all.map((run) => run.wallMs / run.readMs)).toFixed(2);
      const rss = median(all.map((run) => run.peakRssMb));
      const growth = (rss / median(fewer.map((run) => run.peakRssMb))).toFixed(2);
      const requests = [...fewer, ...all].reduce((sum, run) => sum + run.requests, 0);
      const { name, reader } = bench.database;
      bench.print(
        `(b) a sync with nothing to do at ${tenants} tenants in ${name}, ${rounds} rounds, medians of whole processes`,
      );
      bench.print(`    groupsync      ${seconds("wallMs")} s`);
      bench.print(`    ${reader}  ${seconds("readMs")} s, ratio ${ratio} (at most 3)`);
      bench.print(
        `    peak RSS       ${rss.toFixed(0)} MB (at most 200), ${growth} times that at ${fewerTenants} (at most 1.15)`,
      );
      bench.print(`    requests sent  ${requests} (0)`);
    },
  });

async function syncsWithNothingToDo(
  { groupsync, database, folder }: Bench,
  service: Service,
  tenants: number,
  rounds: number,
): Promise<Round[]> {
  await database.createCustomers(tenants);
  const sync = [...writeConfig(folder, database.url, service, 16), "sync", "--json"];
  await measured(() => groupsync(sync));
  await database.tidy();
  const runs: Round[] = [];
  for (let round = 1; round <= rounds; round++) {
    const startedAt = performance.now();
    await database.read();
    const readMs = performance.now() - startedAt;
    runs.push({ readMs, ...(await measured(() => groupsync(sync))) });
  }
  return runs;
}
