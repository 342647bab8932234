import { execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { RequestReport } from "../../src/sandbox/tally.ts";
import { startPostgres } from "../support/embedded-postgres.ts";
import { createCustomers } from "./customers.ts";
import { type Service, startService, startSync, withFolder, writeConfig } from "./world.ts";

const BARE_LOOP = fileURLToPath(new URL("bare-loop.ts", import.meta.url));

/** More than any of the limits lets through in its time. */
const TENANTS = 6_000;
const CONCURRENCY = 16;
const POLL_MS = 20;

interface Limited {
  readonly name: string;
  readonly flags: readonly string[];
  readonly seconds: number;
  /** How many requests the limit lets through in so many seconds at the most. */
  allowed(seconds: number, service: Service): number;
}

const LIMITS: readonly Limited[] = [
  {
    name: "180 in each 15 s",
    flags: ["--rate-limit", "180/15s", "--latency", "20-80"],
    seconds: 180,
    allowed: (seconds) => 180 * Math.ceil(seconds / 15),
  },
  {
    name: "bucket, 20/s and 20 at once",
    flags: ["--token-bucket", "20/s:20", "--latency", "20-80"],
    seconds: 90,
    allowed: (seconds) => 20 * seconds + 20,
  },
  {
    name: "4 at once",
    flags: ["--concurrency-limit", "4", "--latency", "200"],
    seconds: 60,
    allowed: (seconds, service) => seconds * bareRate(service, 300, 4),
  },
];

/**
 * (d) A first sync under limits that groupsync doesn't know, from its first request on: what went through, as a share
 * of the most that the limit lets through in the time, and which share of the requests it refused. The sandbox counts.
 * What a limit of calls at once lets through is what a loop gets that knows it, right after.
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
          const through = passed / limit.allowed(limit.seconds, service);
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
  while ((await requests(service)).total === 0) await sleep(POLL_MS);
  await sleep(seconds * 1000);
  const { by_operation, refused } = await requests(service);
  await sync.stop();
  return { passed: by_operation.GET["200"] ?? 0, refused };
}

/** Requests per second. */
function bareRate({ baseUrl, apiKey }: Service, count: number, concurrency: number): number {
  const args = [baseUrl, apiKey, String(count), String(concurrency), "kept"];
  return Number(
    execFileSync(process.execPath, ["--import", "tsx", BARE_LOOP, ...args], { encoding: "utf8" }),
  );
}

async function requests({ baseUrl, apiKey }: Service): Promise<RequestReport> {
  const answer = await fetch(`${baseUrl}/sandbox/requests`, {
    headers: { authorization: `Token ${apiKey}` },
  });
  return (await answer.json()) as RequestReport;
}
