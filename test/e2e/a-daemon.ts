import type { Program } from "./program.ts";
import { until, type World } from "./world.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests look into lines of every shape
type Line = any;

/** `groupsync run`, as an operator sees it. */
export interface RunningDaemon {
  readonly program: Program;
  /** The lines of its log so far. */
  lines(): Line[];
  /** Those at the end of a run. */
  runs(): Line[];
  /** Resolves once so many runs have ended. */
  ran(count: number): Promise<void>;
  /** Resolves once a line of its log says this. */
  says(message: string | RegExp): Promise<void>;
  page(path: string): Promise<{ readonly status: number; readonly text: string }>;
}

/** Keys of a daemon that ticks every second, on any port. */
export const EVERY_SECOND = { schedule: "* * * * * *", http: { listen: "127.0.0.1:0" } } as const;

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
  await until(() => address() !== undefined || program.child.exitCode !== null);
  return {
    program,
    lines,
    runs,
    ran: (count) => until(() => runs().length >= count),
    says: (message) => until(() => lines().some(({ msg }) => msg.match(message) !== null)),
    async page(path) {
      const response = await fetch(`${address()}${path}`);
      return { status: response.status, text: await response.text() };
    },
  };
}
