import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { benchmark } from "./benchmark.ts";
import { writeConfig } from "./config.ts";
import { type Running, startGroupsync, whileRunning } from "./program.ts";
import { bareRate, requestsTo, type Service, withService } from "./service.ts";

const POLL_MS = 20;

interface Limit {
  readonly name: string;
  /** The sandbox's flags. */
  readonly flags: readonly string[];
  readonly seconds: number;
  /** `service.concurrency`. */
  readonly concurrency: number;
  /** The least share of what the limit allows that should get through. */
  readonly atLeast: number;
  /** The largest share of the requests that may be refused, if that has a bound. */
  readonly mostRefused?: number;
  /** Whether the log should name service.concurrency as the setting to change. */
  readonly isConcurrencyNamed?: true;
  /** The most requests that the limit lets through in this number of seconds. `rate` measures a loop that knows it. */
  allowed(seconds: number, rate: (concurrency: number) => Promise<number>): number | Promise<number>;
}

const FOUR_AT_ONCE = {
  flags: ["--concurrency-limit", "4", "--latency", "200"],
  seconds: 60,
  allowed: async (seconds: number, rate: (concurrency: number) => Promise<number>) =>
    seconds * (await rate(4)),
};

const LIMITS: readonly Limit[] = [
  {
    name: "180 in each 15 s",
    flags: ["--rate-limit", "180/15s", "--latency", "20-80"],
    seconds: 180,
    ...{ concurrency: 16, atLeast: 0.95, mostRefused: 0.02 },
    allowed: (seconds) => 180 * Math.ceil(seconds / 15),
  },
  {
    name: "bucket, 20/s and 20 at once",
    flags: ["--token-bucket", "20/s:20", "--latency", "20-80"],
    seconds: 90,
    ...{ concurrency: 16, atLeast: 0.95, mostRefused: 0.02 },
    allowed: (seconds) => 20 * seconds + 20,
  },
  {
    name: "4 at once, 8 are tried",
    ...FOUR_AT_ONCE,
    ...{ concurrency: 8, atLeast: 0.85, isConcurrencyNamed: true },
  },
  { name: "4 at once, 4 are tried", ...FOUR_AT_ONCE, ...{ concurrency: 4, atLeast: 0.98 } },
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
    const { database, folder, print } = bench;
    print("(d) a first sync under limits that it has to find out");
    for (const limit of limits) {
      const { name, flags, seconds, concurrency } = limit;
      await database.createCustomers(tenants);
      await withService(flags, async (service) => {
        const config = writeConfig(folder, database.url, service, concurrency);
        const sync = startGroupsync([...config.flags, "--log-level", "warn", "sync", "--json"]);
        const counted = await countUnder(sync, service, seconds);
        const most = await limit.allowed(seconds, (known) => bareRate(service, loopRequests, known));
        print(
          `    ${name.padEnd(28)} ${concurrency} requests at once, ${seconds} s: ${verdict(limit, counted, most)}`,
        );
      });
    }
  },
});

interface Counted {
  readonly passed: number;
  readonly refused: number;
  /** Tenants whose groups failed. */
  readonly failed: number;
  readonly log: string;
}

function verdict(
  { atLeast, mostRefused, isConcurrencyNamed }: Limit,
  { passed, refused, failed, log }: Counted,
  most: number,
): string {
  const refusedBound = mostRefused === undefined ? "" : ` (at most ${mostRefused})`;
  const parts = [
    `${passed} through, ${(passed / most).toFixed(3)} of what it allows (at least ${atLeast})`,
    `${refused} refused, ${(refused / (passed + refused)).toFixed(4)}${refusedBound}`,
    `${failed} tenants failed (none)`,
  ];
  if (isConcurrencyNamed) {
    const isNamed = log.includes("set service.concurrency to 4");
    parts.push(`the log ${isNamed ? "names" : "doesn't name"} service.concurrency (names)`);
  }
  return parts.join("; ");
}

/** Waits this number of seconds from the sync's first request on, reads the sandbox's counts, and stops the sync. */
async function countUnder(sync: Running, service: Service, seconds: number): Promise<Counted> {
  const output = text(sync.stdout);
  try {
    while ((await whileRunning(sync, requestsTo(service))).total === 0) await sleep(POLL_MS);
    await whileRunning(sync, sleep(seconds * 1000));
    const { by_operation, refused } = await requestsTo(service);
    sync.stop();
    const { failed } = JSON.parse(await output);
    return { passed: by_operation.GET["200"] ?? 0, refused, failed, log: sync.stderr() };
  } finally {
    sync.stop();
    await sync.ended;
  }
}
