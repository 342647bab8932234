import { type Bench, benchmark } from "./benchmark.ts";
import { writeConfig } from "./config.ts";
import { bareRate, measuredSync, pythonRate, withTlsService } from "./service.ts";
import { createSyncedCustomers } from "./synced-customers.ts";

interface Sizes {
  readonly tenants: number;
  readonly changed: number;
  readonly concurrency: number;
  /** How many requests are enough to measure the rate of a loop with kept connections, and of the slower loops. */
  readonly sample: number;
  readonly slowSample: number;
}

/**
 * (h) What a schedule costs when few tenants have changed: a sync, and scripts that ask the service for every tenant each
 * time. The time of a script is computed from its rate.
 */
export const scripts = benchmark<Sizes>({
  server: "postgres",
  full: { tenants: 1_000_000, changed: 100, concurrency: 16, sample: 20_000, slowSample: 1_000 },
  tiny: { tenants: 20, changed: 2, concurrency: 4, sample: 4, slowSample: 4 },

  async run(bench, { tenants, changed, concurrency, sample, slowSample }) {
    const sync = await syncOf(bench, tenants, changed, concurrency);
    const rates = await withTlsService(bench, "keep", async (service) => ({
      kept: await bareRate(service, sample, concurrency),
      byDefault: await bareRate(service, slowSample, concurrency, "default"),
      python: await pythonRate(service, slowSample),
    }));

    const print = (what: string, seconds: number, requests: number, note = ""): void =>
      bench.print(`    ${what}  ${seconds.toFixed(1)} s, ${requests} requests${note}`);
    const script = (what: string, rate: number): void =>
      print(what, tenants / rate, tenants, ` at ${rate.toFixed(0)}/s`);
    bench.print(`(h) ${changed} of ${tenants} tenants have changed, over TLS`);
    print("groupsync", sync.wallMs / 1000, sync.requests);
    script(`a script that calls for every tenant, ${concurrency} at once over kept connections`, rates.kept);
    script("the same with undici's default, a connection for each call", rates.byDefault);
    script("a script in Python, one call after the other, a connection for each", rates.python);
  },
});

const syncOf = (bench: Bench, tenants: number, changed: number, concurrency: number) =>
  withTlsService(bench, "update", async (service) => {
    const { database, folder } = bench;
    const config = writeConfig(folder, database.url, service, concurrency);
    await createSyncedCustomers(bench.database, service, config, { tenants, made: changed });
    await database.renameCustomers(changed);
    return measuredSync(service, config, changed);
  });
