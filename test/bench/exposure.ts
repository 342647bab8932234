import pg from "pg";
import { runBare } from "./bare/run.ts";
import { type Bench, benchmark, median, quantile } from "./benchmark.ts";
import { writeConfig } from "./config.ts";
import { watchedLine } from "./line.ts";
import { outputOf, startGroupsync } from "./program.ts";
import { type Service, withService } from "./service.ts";

const CHANNEL = "groupsync_tokens";

interface Sizes {
  readonly tenants: number;
  readonly rounds: number;
}

/**
 * (c) How long a rotated tenant is locked out: from the moment when the service has sent its answer to POST until the
 * database notifies another connection, over `tokens.notify`, that the new token can be read. The time includes the way
 * of the answer to the program, the program's work, the commit, and the way of the notification. For comparison: how
 * long the commit of one row takes in the simplest program that rotates (bare/rotation.mjs).
 */
export const exposure = benchmark<Sizes>({
  server: "postgres",
  full: { tenants: 300, rounds: 5 },
  tiny: { tenants: 3, rounds: 1 },

  async run(bench, sizes) {
    await bench.database.createCustomers(sizes.tenants);
    const { exposures, commits } = await withService([], (service) => rotate(bench, service, sizes));
    const figures = (times: readonly number[]) =>
      `p50 ${median(times).toFixed(2)} ms, p99 ${quantile(times, 0.99).toFixed(2)} ms`;
    const ratio = (share: number) => (quantile(exposures, share) / quantile(commits, share)).toFixed(2);
    bench.print(`(c) exposure of ${exposures.length} rotated tokens, one at a time, ${sizes.rounds} rounds`);
    bench.print(`    from answer to new token  ${figures(exposures)}`);
    bench.print(`    a commit of one row       ${figures(commits)}`);
    bench.print(`    ratio  p50 ${ratio(0.5)} (at most 3), p99 ${ratio(0.99)}`);
  },
});

/** In milliseconds. */
interface Times {
  readonly exposures: number[];
  readonly commits: number[];
}

async function rotate(
  { database, folder }: Bench,
  service: Service,
  { tenants, rounds }: Sizes,
): Promise<Times> {
  const times: Times = { exposures: [], commits: [] };
  /** When each answer to POST was sent, by user_group_id. */
  const answered = new Map<string, number>();
  const line = await watchedLine(service.baseUrl, () => {
    let isPost = false;
    return {
      sent(chunk) {
        // A request's body may come in a later chunk: keep the method then.
        const [, method] = /^(GET|POST|DELETE) /.exec(chunk.toString("latin1", 0, 8)) ?? [];
        if (method !== undefined) isPost = method === "POST";
      },
      answered(chunk) {
        // The sandbox sends each answer in one piece.
        const [, id] = /"provided_id":"([^"]+)"/.exec(chunk.toString()) ?? [];
        if (isPost && id !== undefined) answered.set(id, performance.now());
      },
    };
  });
  const observer = new pg.Client(database.url);
  try {
    const config = writeConfig(folder, database.url, { ...service, baseUrl: line.url }, 16, {
      tokens: { notify: CHANNEL },
    });
    await outputOf(startGroupsync([...config.flags, "sync"]));
    const visible = new Map<string, number>();
    await observer.connect();
    observer.on("notification", ({ payload = "" }) => visible.set(payload, performance.now()));
    await observer.query(`LISTEN ${CHANNEL}`);
    for (let round = 1; round <= rounds; round++) {
      const bare = [service.baseUrl, service.apiKey, database.url, String(tenants)];
      times.commits.push(...JSON.parse(await runBare("rotation.mjs", bare)));
      answered.clear();
      visible.clear();
      await outputOf(startGroupsync([...config.flags, "rotate", "--all", "--yes"]));
      // The last notifications may still be on their way. They come before the answer.
      await observer.query("SELECT 1");
      if (visible.size !== tenants) throw new Error(`${visible.size} of ${tenants} tokens were seen`);
      for (const [id, seen] of visible) times.exposures.push(seen - (answered.get(id) ?? Number.NaN));
    }
    return times;
  } finally {
    await observer.end();
    line.close();
  }
}
