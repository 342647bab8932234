import type { DatabaseKind } from "../support/databases/database-server.ts";
import { type Bench, type Benchmark, benchmark, median } from "./benchmark.ts";
import { writeConfig } from "./config.ts";
import { bareRate, measuredSync, storingRate, withTlsService } from "./service.ts";

interface Backfill {
  readonly tenants: number;
  readonly rounds: number;
  /** The share of the bare loop's rate that groupsync should reach. */
  readonly atLeast: number;
}

interface Sizes {
  readonly backfills: readonly Backfill[];
  readonly concurrency: number;
}

/**
 * (a) The rate of a backfill over TLS that commits every token, from the start of the sync. Compared with a loop that asks
 * for the same groups over kept connections and stores nothing, and with another one that also stores them.
 */
export const backfillOn = (server: DatabaseKind, backfills: readonly Backfill[]): Benchmark =>
  benchmark<Sizes>({
    server,
    full: { backfills, concurrency: 16 },
    tiny: { backfills: [{ tenants: 20, rounds: 1, atLeast: 0 }], concurrency: 4 },

    async run(bench, { backfills, concurrency }) {
      for (const { tenants, rounds, atLeast } of backfills) {
        const results: Round[] = [];
        for (let round = 1; round <= rounds; round++)
          results.push(await oneRound(bench, tenants, concurrency));
        const rate = (name: keyof Round) => median(results.map((round) => round[name])).toFixed(0);
        const share = (name: keyof Round) =>
          median(results.map((round) => round[name] / round.bare)).toFixed(2);
        bench.print(
          `(a) backfill of ${tenants} tenants in ${bench.database.name} over TLS, concurrency ${concurrency}, ${rounds} rounds, medians`,
        );
        bench.print(`    a bare loop, stores nothing  ${rate("bare")} groups/s`);
        bench.print(
          `    a bare loop that stores      ${rate("storing")} groups/s, ${share("storing")} of that`,
        );
        bench.print(
          `    groupsync                    ${rate("groupsync")} groups/s, ${share("groupsync")} of that (at least ${atLeast})`,
        );
      }
    },
  });

/** Rates per second. */
interface Round {
  readonly groupsync: number;
  readonly bare: number;
  readonly storing: number;
}

/** Each of the three meets a service without any group. */
async function oneRound(bench: Bench, tenants: number, concurrency: number): Promise<Round> {
  const { database, folder } = bench;
  await database.createCustomers(tenants);
  const committed = await withTlsService(bench, "keep", async (service) => {
    const config = writeConfig(folder, database.url, service, concurrency);
    const { durationMs } = await measuredSync(service, config, tenants);
    const tokens = await database.countTokens();
    if (tokens !== tenants) throw new Error(`${tokens} of ${tenants} tokens are stored`);
    return (tenants * 1000) / durationMs;
  });
  const bare = await withTlsService(bench, "keep", (service) => bareRate(service, tenants, concurrency));
  await database.createCustomers(tenants);
  const storing = await withTlsService(bench, "keep", (service) =>
    storingRate(service, tenants, concurrency, database.url),
  );
  return { groupsync: committed, bare, storing };
}
