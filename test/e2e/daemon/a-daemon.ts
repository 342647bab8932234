import type { Program } from "../program.ts";
import { until, type World } from "../world.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests look into lines of every shape
type Line = any;

interface Answered {
  readonly status: number;
  readonly json: unknown;
}

/** `groupsync run`, as an operator sees it. */
export interface RunningDaemon {
  readonly program: Program;
  /** The lines of its log so far. */
  lines(): Line[];
  /** The log lines at the end of each run. */
  runs(): Line[];
  /** Resolves once this number of runs has ended. */
  ran(count: number): Promise<void>;
  /** Resolves once a line of its log says this. */
  says(message: string | RegExp): Promise<void>;
  page(path: string): Promise<{ readonly status: number; readonly text: string }>;
  post(path: string, headers: Readonly<Record<string, string>>): Promise<Answered>;
}

/** Keys of a daemon that scheduled times every second, on any port. */
export const EVERY_SECOND = { schedule: "* * * * * *", http: { listen: "127.0.0.1:0" } } as const;

/** No full sync follows the first one while a test runs. */
const NEVER = "0 0 29 2 *";

const SYNC_KEY = "a-key-of-more-than-sixteen-characters";

/** Keys of a daemon that takes POST /sync, and syncs all tenants at its start alone. */
export const WITH_SYNC_KEY = {
  schedule: NEVER,
  http: { listen: "127.0.0.1:0", sync_key: SYNC_KEY },
} as const;

/** Asks the daemon for one tenant by POST /sync. */
export const signUp = (
  daemon: RunningDaemon,
  id: string,
  { wait = "60s", key = SYNC_KEY }: { readonly wait?: string; readonly key?: string } = {},
): Promise<Answered> =>
  daemon.post(`/sync/${encodeURIComponent(id)}?wait=${wait}`, { authorization: `Bearer ${key}` });

export async function aDaemon(world: World): Promise<RunningDaemon> {
  const program = world.start("run");
  const lines = (): Line[] =>
    program
      .output()
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line));
  const runs = (): Line[] => lines().filter(({ outcome }) => outcome !== undefined);
  const address = (): string | undefined =>
    lines()
      .map(({ msg }) => /^status page, probes and metrics on (.*)$/.exec(msg)?.[1])
      .findLast((url) => url !== undefined);
  let isOver = false;
  void program.ended.then(() => {
    isOver = true;
  });
  /** Waits for what the daemon prints. Throws if the daemon ends without it, so that nobody waits in vain. */
  const untilPrinted = async (condition: () => boolean): Promise<void> => {
    await until(() => isOver || condition());
    if (!condition()) throw new Error(`the daemon ended too early:\n${program.output()}`);
  };
  await untilPrinted(() => address() !== undefined);
  return {
    program,
    lines,
    runs,
    ran: (count) => untilPrinted(() => runs().length >= count),
    says: (message) => untilPrinted(() => lines().some(({ msg }) => msg.match(message) !== null)),
    async page(path) {
      const response = await fetch(`${address()}${path}`);
      return { status: response.status, text: await response.text() };
    },
    async post(path, headers) {
      const response = await fetch(`${address()}${path}`, { method: "POST", headers });
      return { status: response.status, json: await response.json() };
    },
  };
}
