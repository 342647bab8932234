import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { startPostgres } from "../support/embedded-postgres.ts";
import { createCustomers } from "./customers.ts";
import { median, runSync, type Service, startService, withFolder, writeConfig } from "./world.ts";

const BARE_LOOP = fileURLToPath(new URL("bare-loop.ts", import.meta.url));
const TENANTS = 5_000;
const CONCURRENCY = 16;
const ROUNDS = 5;
/** undici's default opens a connection for each request: fewer of them tell the rate as well. */
const DEFAULT_REQUESTS = 1_000;

/**
 * (a) A backfill over TLS with every token committed, against a loop that asks for the same groups over kept
 * connections and stores nothing, and against that loop with undici's defaults. Rates per second.
 */
export async function benchBackfill(): Promise<void> {
  await withFolder(async (folder) => {
    const database = await startPostgres({ durable: true });
    try {
      const rounds: Round[] = [];
      for (let round = 1; round <= ROUNDS; round++) rounds.push(await oneRound(folder, database.url));
      const rate = (name: keyof Round) => median(rounds.map((round) => round[name]));
      const overBare = median(rounds.map((round) => round.groupsync / round.bare));
      const overDefault = median(rounds.map((round) => round.groupsync / round.byDefault));
      console.log(
        `(a) backfill of ${TENANTS} tenants over TLS, concurrency ${CONCURRENCY}, ${ROUNDS} rounds, medians`,
      );
      console.log(`    groupsync, tokens committed   ${rate("groupsync").toFixed(0)} groups/s`);
      console.log(`    bare loop, stores nothing     ${rate("bare").toFixed(0)} groups/s`);
      console.log(`    the same, undici's default    ${rate("byDefault").toFixed(0)} groups/s`);
      console.log(
        `    of the bare loop ${overBare.toFixed(2)} (at least 0.70), times the default ${overDefault.toFixed(1)} (at least 15)`,
      );
    } finally {
      await database.stop();
    }
  });
}

/** Rates per second. */
interface Round {
  readonly groupsync: number;
  readonly bare: number;
  readonly byDefault: number;
}

async function oneRound(folder: string, databaseUrl: string): Promise<Round> {
  await createCustomers(databaseUrl, TENANTS);
  const groupsync = await withService(folder, async (service) => {
    const config = writeConfig(folder, databaseUrl, service, CONCURRENCY);
    const { durationMs, requests, outcome } = await runSync(config, trusting(service));
    if (outcome !== "ok" || requests !== TENANTS)
      throw new Error(`the sync ended ${outcome} after ${requests} requests`);
    await expectTokens(databaseUrl, TENANTS);
    return (TENANTS * 1000) / durationMs;
  });
  const bare = await withService(folder, (service) => loop(service, TENANTS, "kept"));
  const byDefault = await withService(folder, (service) => loop(service, DEFAULT_REQUESTS, "default"));
  return { groupsync, bare, byDefault };
}

async function withService<T>(folder: string, body: (service: Service) => T | Promise<T>): Promise<T> {
  const service = await startService(folder, "--tls");
  try {
    return await body(service);
  } finally {
    await service.stop();
  }
}

const trusting = ({ certFile = "" }: Service): Record<string, string> => ({ NODE_EXTRA_CA_CERTS: certFile });

/** Requests per second. */
function loop(service: Service, requests: number, mode: "kept" | "default"): number {
  const args = [service.baseUrl, service.apiKey, String(requests), String(CONCURRENCY), mode];
  const out = execFileSync(process.execPath, ["--import", "tsx", BARE_LOOP, ...args], {
    encoding: "utf8",
    env: { ...process.env, ...trusting(service) },
  });
  return Number(out);
}

async function expectTokens(databaseUrl: string, count: number): Promise<void> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  const { rows } = await client.query("SELECT count(*)::int AS count FROM groupsync_tokens");
  await client.end();
  if (rows[0]?.count !== count) throw new Error(`${rows[0]?.count} of ${count} tokens are stored`);
}
