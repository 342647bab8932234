import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

/** A program that was started. */
export interface Running {
  readonly pid: number | undefined;
  /** What it prints. Somebody has to read it. */
  readonly stdout: Readable;
  /** What it has complained about so far. */
  stderr(): string;
  /** Its exit code, or null if a signal ended it. */
  readonly ended: Promise<number | null>;
  /** Tells it to stop. */
  stop(): void;
}

/** `GROUPSYNC_BENCH_PROGRAM=…/main.js` measures another build. */
const PROGRAM =
  process.env.GROUPSYNC_BENCH_PROGRAM ?? fileURLToPath(new URL("../../dist/main.js", import.meta.url));

/** Starts the built program, with these variables beside those of this process. */
export const startGroupsync = (args: readonly string[], env?: Readonly<Record<string, string>>): Running =>
  startProgram(process.execPath, [PROGRAM, ...args], env);

export function startProgram(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Running {
  const child = spawn(program, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    stderr += chunk;
  });
  return {
    pid: child.pid,
    stdout: child.stdout,
    stderr: () => stderr,
    ended: once(child, "exit").then(([code]) => code),
    stop: () => void child.kill("SIGTERM"),
  };
}

/** What a program prints until its end. Rejects if its exit code isn't 0. */
export async function outputOf({ stdout, stderr, ended }: Running): Promise<string> {
  const [output, code] = await Promise.all([text(stdout), ended]);
  if (code !== 0) throw new Error(`a program ended with ${code} and printed: ${output}${stderr()}`);
  return output;
}

/** What is to come about while a program runs. Rejects if the program ends first. */
export async function whileRunning<T>({ stderr, ended }: Running, event: Promise<T>): Promise<T> {
  const early = ended.then((code) => {
    throw new Error(`a program ended too early, with ${code}, and printed: ${stderr()}`);
  });
  return await Promise.race([event, early]);
}

/** The report of `sync --json` or `rotate --json`, and the time and memory of the process. */
export interface Measured {
  readonly durationMs: number;
  readonly requests: number;
  /** The duration of the whole process. */
  readonly wallMs: number;
  readonly peakRssMb: number;
}

/** Measures a program that reports with `--json`, from its start to its end. */
export async function measured(start: () => Running): Promise<Measured> {
  const startedAt = performance.now();
  const program = start();
  let peakRssMb = peakRssOf(program.pid);
  const watching = setInterval(() => {
    peakRssMb = Math.max(peakRssMb, peakRssOf(program.pid));
  }, 20);
  try {
    const report = JSON.parse(await outputOf(program));
    const wallMs = performance.now() - startedAt;
    return { durationMs: report.duration_ms, requests: report.requests, wallMs, peakRssMb };
  } finally {
    clearInterval(watching);
  }
}

/** The kernel's high-water mark in MiB: a sample late in the run includes every earlier peak. */
function peakRssOf(pid: number | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}
