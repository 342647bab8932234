import { benchmark } from "./benchmark.ts";
import { writeConfig } from "./config.ts";
import type { Measured } from "./program.ts";
import { measuredSync, withTlsService } from "./service.ts";

interface Sizes {
  readonly tenants: number;
  /** Of how many the memory is compared with. */
  readonly fewerTenants: number;
  readonly concurrency: number;
}

interface Result {
  readonly backfill: Measured;
  readonly afterChange: Measured;
}

/** (g) A sync after all rows have changed: its rate beside that of the backfill just before it, and its memory. */
export const allChanged = benchmark<Sizes>({
  server: "postgres",
  full: { tenants: 1_000_000, fewerTenants: 100_000, concurrency: 16 },
  tiny: { tenants: 20, fewerTenants: 2, concurrency: 4 },

  async run(bench, { tenants, fewerTenants, concurrency }) {
    const { database, folder } = bench;
    const changeAll = (count: number): Promise<Result> =>
      withTlsService(bench, "update", async (service) => {
        const config = writeConfig(folder, database.url, service, concurrency);
        await database.createCustomers(count);
        const backfill = await measuredSync(service, config, count);
        await database.tidy();
        await database.renameCustomers(count);
        return { backfill, afterChange: await measuredSync(service, config, count) };
      });
    const fewer = await changeAll(fewerTenants);
    const all = await changeAll(tenants);

    const rate = ({ durationMs }: Measured): number => (tenants * 1000) / durationMs;
    const share = (rate(all.afterChange) / rate(all.backfill)).toFixed(2);
    const growth = (all.afterChange.peakRssMb / fewer.afterChange.peakRssMb).toFixed(2);
    bench.print(`(g) a sync after all ${tenants} rows have changed, over TLS, concurrency ${concurrency}`);
    bench.print(`    backfill     ${rate(all.backfill).toFixed(0)} groups/s`);
    bench.print(`    all changed  ${rate(all.afterChange).toFixed(0)} groups/s, ratio ${share} (about 1)`);
    bench.print(
      `    peak RSS     ${all.afterChange.peakRssMb.toFixed(0)} MB, ${growth} times that at ${fewerTenants} (at most 1.15)`,
    );
  },
});
