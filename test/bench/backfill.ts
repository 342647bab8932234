import pg from "pg";
import { type Bench, benchmark, median } from "./benchmark.ts";
import { writeConfig } from "./config.ts";
import { measured } from "./program.ts";
import { bareRate, withService } from "./service.ts";

interface Sizes {
  readonly tenants: number;
  readonly concurrency: number;
  readonly rounds: number;
  /** undici's default opens a connection for each request, so a small number is enough to measure the rate. */
  readonly defaultRequests: number;
}

/**
 * (a) The rate of a backfill over TLS that commits every token. Compared with a loop that asks for the same groups over
 * kept connections and stores nothing, and with the same loop with undici's defaults.
 */
export const backfill = benchmark<Sizes>({
  server: "postgres",
  full: { tenants: 5_000, concurrency: 16, rounds: 5, defaultRequests: 1_000 },
  tiny: { tenants: 20, concurrency: 4, rounds: 1, defaultRequests: 4 },

  async run(bench, sizes) {
    const { tenants, concurrency } = sizes;
    const rounds: Round[] = [];
    for (let round = 1; round <= sizes.rounds; round++) rounds.push(await oneRound(bench, sizes));
    const rate = (name: keyof Round) => median(rounds.map((round) => round[name])).toFixed(0);
    const overBare = median(rounds.map((round) => round.groupsync / round.bare)).toFixed(2);
    const overDefault = median(rounds.map((round) => round.groupsync / round.byDefault)).toFixed(1);

    bench.print(
      `(a) backfill of ${tenants} tenants over TLS, concurrency ${concurrency}, ${sizes.rounds} rounds, medians`,
    );
    bench.print(`    groupsync, tokens committed   ${rate("groupsync")} groups/s`);
    bench.print(`    bare loop, stores nothing     ${rate("bare")} groups/s`);
    bench.print(`    the same, undici's default    ${rate("byDefault")} groups/s`);
    bench.print(
      `    of the bare loop ${overBare} (at least 0.70), times the default ${overDefault} (at least 15)`,
    );
  },
});

/** Rates per second. */
interface Round {
  readonly groupsync: number;
  readonly bare: number;
  readonly byDefault: number;
}

/** Each of the three meets a service without any group. */
async function oneRound(bench: Bench, { tenants, concurrency, defaultRequests }: Sizes): Promise<Round> {
  const { groupsync, database, folder } = bench;
  await database.createCustomers(tenants);
  const committed = await withService(bench, ["--tls"], async (service) => {
    const config = writeConfig(folder, database.url, service, concurrency);
    const { durationMs, requests } = await measured(() =>
      groupsync([...config, "sync", "--json"], service.trust),
    );
    if (requests !== tenants) throw new Error(`the sync sent ${requests} requests`);
    await expectTokens(database.url, tenants);
    return (tenants * 1000) / durationMs;
  });
  const bare = await withService(bench, ["--tls"], (service) => bareRate(service, tenants, concurrency));
  const byDefault = await withService(bench, ["--tls"], (service) =>
    bareRate(service, defaultRequests, concurrency, "default"),
  );
  return { groupsync: committed, bare, byDefault };
}

async function expectTokens(databaseUrl: string, count: number): Promise<void> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  const { rows } = await client.query("SELECT count(*)::int AS count FROM groupsync_tokens");
  await client.end();
  if (rows[0]?.count !== count) throw new Error(`${rows[0]?.count} of ${count} tokens are stored`);
}
