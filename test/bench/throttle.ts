import { setTimeout as sleep } from "node:timers/promises";
import { benchmark } from "./benchmark.ts";
import { writeConfig } from "./config.ts";
import { type Running, whileRunning } from "./program.ts";
import { bareRate, requestsTo, type Service, withService } from "./service.ts";

const CONCURRENCY = 16;
const POLL_MS = 20;

interface Limit {
  readonly name: string;
  /** The sandbox's flags. */
  readonly flags: readonly string[];
  readonly seconds: number;
  /** The most requests that the limit lets through in this number of seconds. `rate` measures a loop that knows it. */
  allowed(seconds: number, rate: (concurrency: number) => Promise<number>): number | Promise<number>;
}

const LIMITS: readonly Limit[] = [
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
    allowed: async (seconds, rate) => seconds * (await rate(4)),
  },
];

interface Sizes {
  readonly limits: readonly Limit[];
  /** More than any of the limits lets through. */
  readonly tenants: number;
  /** What the loop asks for that knows the limit. */
  readonly loopRequests: number;
}

/**
 * (d) A first sync under limits that groupsync doesn't know. Prints the requests that passed, as a share of the most
 * that the limit lets through in the same time, and the share of requests that were refused, both counted by the
 * sandbox from the first request on. For a concurrency limit, the most is measured afterwards with a loop that knows
 * the limit.
 */
export const throttle = benchmark<Sizes>({
  server: "postgres",
  full: { limits: LIMITS, tenants: 6_000, loopRequests: 300 },
  tiny: { limits: LIMITS.map((limit) => ({ ...limit, seconds: 0.3 })), tenants: 300, loopRequests: 4 },

  async run(bench, { limits, tenants, loopRequests }) {
    const { groupsync, database, folder, print } = bench;
    print(`(d) a first sync under limits that it has to find out, concurrency ${CONCURRENCY}`);
    for (const { name, flags, seconds, allowed } of limits) {
      await database.createCustomers(tenants);
      await withService(bench, flags, async (service) => {
        const config = writeConfig(folder, database.url, service, CONCURRENCY);
        const { passed, refused } = await countUnder(groupsync([...config.flags, "sync"]), service, seconds);
        const most = await allowed(seconds, (concurrency) => bareRate(service, loopRequests, concurrency));
        const through = (passed / most).toFixed(3);
        const share = (refused / (passed + refused)).toFixed(4);
        print(
          `    ${name.padEnd(28)} ${seconds} s: ${passed} through, ${through} of what it allows (at least 0.95); ${refused} refused, ${share} (at most 0.02)`,
        );
      });
    }
  },
});

/** Waits this number of seconds from the sync's first request on, reads the sandbox's counts, and stops the sync. */
async function countUnder(
  sync: Running,
  service: Service,
  seconds: number,
): Promise<{ passed: number; refused: number }> {
  try {
    while ((await whileRunning(sync, requestsTo(service))).total === 0) await sleep(POLL_MS);
    await whileRunning(sync, sleep(seconds * 1000));
    const { by_operation, refused } = await requestsTo(service);
    return { passed: by_operation.GET["200"] ?? 0, refused };
  } finally {
    sync.stop();
    await sync.ended;
  }
}
