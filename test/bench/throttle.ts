import { setTimeout as sleep } from "node:timers/promises";
import type { RequestReport } from "../../src/sandbox/tally.ts";
import { startPostgres } from "../support/embedded-postgres.ts";
import { createCustomers } from "./customers.ts";
import { type Service, startService, startSync, withFolder, writeConfig } from "./world.ts";

/** More than any of the limits lets through in its time. */
const TENANTS = 6_000;
const CONCURRENCY = 16;
const ATTEMPTS_A_SECOND = 50;

interface Limited {
  readonly name: string;
  readonly flags: readonly string[];
  readonly seconds: number;
  /** How many requests the limit lets through in so many seconds at the most. */
  allowed(seconds: number): number;
}

const LATENCY = 0.2;
const LIMITS: readonly Limited[] = [
  {
    name: "180 in each 10 s",
    flags: ["--rate-limit", "180/10s", "--latency", "20-80"],
    seconds: 120,
    allowed: (seconds) => 180 * Math.ceil(seconds / 10),
  },
  {
    name: "bucket, 20/s and 20 at once",
    flags: ["--token-bucket", "20/s:20", "--latency", "20-80"],
    seconds: 90,
    allowed: (seconds) => 20 * seconds + 20,
  },
  {
    name: "4 at once",
    flags: ["--concurrency-limit", "4", "--latency", String(1000 * LATENCY)],
    seconds: 60,
    allowed: (seconds) => (4 * seconds) / LATENCY,
  },
];

/**
 * (d) A first sync under limits that groupsync doesn't know, from its first request on: what went through, as a share
 * of the most that the limit lets through in the time, and which share of the requests it refused. The sandbox counts.
 */
export async function benchThrottle(): Promise<void> {
  console.log(`(d) a first sync under limits that it has to find out, concurrency ${CONCURRENCY}`);
  await withFolder(async (folder) => {
    const database = await startPostgres();
    try {
      for (const limit of LIMITS) {
        await createCustomers(database.url, TENANTS);
        const service = await startService(folder, ...limit.flags);
        try {
          const config = writeConfig(folder, database.url, service, CONCURRENCY);
          const { passed, refused } = await countUnder(config, service, limit.seconds);
          const through = passed / limit.allowed(limit.seconds);
          const share = refused / (passed + refused);
          console.log(
            `    ${limit.name.padEnd(28)} ${limit.seconds} s: ${passed} through, ${through.toFixed(3)} of what it allows (at least 0.95); ${refused} refused, ${share.toFixed(4)} (at most 0.02)`,
          );
        } finally {
          await service.stop();
        }
      }
    } finally {
      await database.stop();
    }
  });
}

/** What the sandbox has counted so many seconds after the first request of a sync, which is then told to stop. */
async function countUnder(
  config: string,
  service: Service,
  seconds: number,
): Promise<{ passed: number; refused: number }> {
  const sync = startSync(config);
  while ((await requests(service)).total === 0) await sleep(1000 / ATTEMPTS_A_SECOND);
  await sleep(seconds * 1000);
  const { by_operation, refused } = await requests(service);
  await sync.stop();
  return { passed: by_operation.GET["200"] ?? 0, refused };
}

async function requests({ baseUrl, apiKey }: Service): Promise<RequestReport> {
  const answer = await fetch(`${baseUrl}/sandbox/requests`, {
    headers: { authorization: `Token ${apiKey}` },
  });
  return (await answer.json()) as RequestReport;
}
