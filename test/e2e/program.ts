import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** The program that `npm run build` made. The environment can name another build. */
export const MAIN =
  process.env.GROUPSYNC_TEST_PROGRAM ?? fileURLToPath(new URL("../../dist/main.js", import.meta.url));

export interface Ended {
  /** Null if a signal ended the program. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Program {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Everything printed so far. */
  output(): string;
  /** Sends the signal and waits for the end. */
  stop(signal: NodeJS.Signals): Promise<Ended>;
}

/** Starts the built program with this environment alone. It is killed when the test is over. */
export function startProgram(args: readonly string[], env: Readonly<Record<string, string>> = {}): Program {
  return startProcess(process.execPath, [MAIN, ...args], env);
}

export function startProcess(
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Program {
  const child = spawn(file, args, {
    env: { PATH: process.env.PATH ?? "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const ended = once(child, "close").then(([code, signal]): Ended => ({ code, signal, stdout, stderr }));
  const stop = (signal: NodeJS.Signals): Promise<Ended> => {
    child.kill(signal);
    return ended;
  };
  onTestFinished(async () => {
    await stop("SIGKILL");
  });
  return { child, ended, output: () => stdout + stderr, stop };
}

export const runProgram = (args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ended> =>
  startProgram(args, env).ended;
