import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { installedProgram, unpackedPackage } from "./debian-packages.ts";

export interface RunResult {
  readonly code: number | null;
  /** What it printed, to either of its outputs. */
  readonly output: string;
}

/** Runs a program to its end. */
export type RunProgram = (args: readonly string[], options?: RunOptions) => Promise<RunResult>;

export interface RunOptions {
  readonly cwd?: string;
  readonly input?: string;
}

/** Where a program is found if it isn't installed. */
export interface DebianProgram {
  readonly name: string;
  readonly package: string;
  /** In the package. */
  readonly path: string;
  /** The release whose package it is; by default the one that runs here. */
  readonly release?: string;
  /** Prints its version. */
  readonly version: readonly string[];
  /** Whether an installed one is good enough; by default any is. */
  readonly isEnough?: (version: string) => boolean;
}

/** Runs an installed program, or Debian's. Null, with a message, if there is neither. With CI=true that is an error. */
export async function findProgram(wanted: DebianProgram): Promise<RunProgram | null> {
  const program = await findProgramPath(wanted);
  return program === null ? null : (args, options) => run(program, args, options);
}

/** The path of an installed program, or of Debian's; otherwise as `findProgram`. */
export async function findProgramPath(wanted: DebianProgram): Promise<string | null> {
  try {
    return await programPath(wanted);
  } catch (error) {
    if (process.env.CI === "true") throw error;
    console.error(
      [
        `\n!!! There is no ${wanted.name}: every test that needs one is SKIPPED.`,
        `!!! To get one: install it (Debian: ${wanted.package}), or let apt-get download it.`,
        `!!! ${error instanceof Error ? error.message : error}\n`,
      ].join("\n"),
    );
    return null;
  }
}

async function programPath(wanted: DebianProgram): Promise<string> {
  const { name, path, release, version, isEnough = () => true } = wanted;
  const installed = installedProgram(name);
  if (installed !== undefined) {
    const { code, output } = await run(installed, version);
    if (code === 0 && isEnough(output)) return installed;
  }
  // What else the packages need is for other programs in them.
  const { root } = await unpackedPackage(wanted.package, {
    withDependencies: false,
    ...(release && { release }),
  });
  const unpacked = join(root, path);
  const { code, output } = await run(unpacked, version);
  if (code !== 0) throw new Error(output);
  return unpacked;
}

async function run(
  program: string,
  args: readonly string[],
  { cwd, input = "" }: RunOptions = {},
): Promise<RunResult> {
  const child = spawn(program, args, { cwd, stdio: "pipe" });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  child.stdin.end(input);
  const [code, out, err] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  return { code, output: out + err };
}
