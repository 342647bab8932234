import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { installedProgram, unpackedPackage } from "./debian-packages.ts";
import { unlessMissing } from "./not-to-be-had.ts";

export interface RunResult {
  readonly code: number | null;
  /** What it printed, to either of its outputs. */
  readonly output: string;
}

/** Runs a program to its end. */
export type RunProgram = (args: readonly string[], options?: RunOptions) => Promise<RunResult>;

interface RunOptions {
  readonly cwd?: string;
  readonly input?: string;
}

/** Where a program is found if it isn't installed. */
interface DebianProgram {
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
async function findProgram(wanted: DebianProgram): Promise<RunProgram | null> {
  const program = await findProgramPath(wanted);
  return program === null ? null : (args, options) => run(program, args, options);
}

/** The path of an installed program, or of Debian's; otherwise as `findProgram`. */
export const findProgramPath = (wanted: DebianProgram): Promise<string | null> =>
  unlessMissing(wanted.name, wanted.package, () => programPath(wanted));

/** The first release with versions that read the files in deploy/. */
const RELEASE = "trixie";

/** `kubectl kustomize` needs no cluster. Before 1.31 `kubectl wait` couldn't wait for a condition of any kind. */
export const findKubectl = (): Promise<string | null> =>
  findProgramPath({
    name: "kubectl",
    package: "kubectl",
    release: RELEASE,
    path: "usr/bin/kubectl",
    version: ["version", "--client"],
    isEnough: (version) => Number(/Client Version: v1\.(\d+)/.exec(version)?.[1]) >= 31,
  });

/** `docker-compose config` needs no engine. Version 1 doesn't know today's files. */
export const findCompose = (): Promise<RunProgram | null> =>
  findProgram({
    name: "docker-compose",
    package: "docker-compose",
    release: RELEASE,
    path: "usr/libexec/docker/cli-plugins/docker-compose",
    version: ["version"],
    isEnough: (version) => /version v?[2-9]/.test(version),
  });

/** Prometheus's own checker. */
export const findPromtool = (): Promise<RunProgram | null> =>
  findProgram({
    name: "promtool",
    package: "prometheus",
    path: "usr/bin/promtool",
    version: ["--version"],
  });

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
