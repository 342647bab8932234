import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { installedProgram, unpackedPackage } from "./debian-packages.ts";

export interface GetResult {
  readonly code: number | null;
  /** What it printed, to either of its outputs. */
  readonly output: string;
}

/** Runs Prometheus's own checker. */
export type Promtool = (args: readonly string[], options?: PromtoolOptions) => Promise<GetResult>;

export interface PromtoolOptions {
  readonly cwd?: string;
  readonly input?: string;
}

const PACKAGE = "prometheus";

/** An installed promtool, or Debian's. Null, with a message, if there is neither. */
export async function findPromtool(): Promise<Promtool | null> {
  try {
    const program = installedProgram("promtool") ?? (await unpackedProgram());
    const version = await run(program, ["--version"]);
    if (version.code !== 0) throw new Error(version.output);
    return (args, options) => run(program, args, options);
  } catch (error) {
    if (process.env.CI === "true") throw error;
    console.error(
      [
        "\n!!! There is no promtool: every test that needs one is SKIPPED.",
        `!!! To get one: install it (Debian: ${PACKAGE}), or let apt-get download it.`,
        `!!! ${error instanceof Error ? error.message : error}\n`,
      ].join("\n"),
    );
    return null;
  }
}

/** What else the package needs is for the server's pages. */
async function unpackedProgram(): Promise<string> {
  const { root } = await unpackedPackage(PACKAGE, { withDependencies: false });
  return join(root, "usr/bin/promtool");
}

async function run(
  program: string,
  args: readonly string[],
  { cwd, input = "" }: PromtoolOptions = {},
): Promise<GetResult> {
  const child = spawn(program, args, { cwd, stdio: "pipe" });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  child.stdin.end(input);
  const [code, out, err] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  return { code, output: out + err };
}
