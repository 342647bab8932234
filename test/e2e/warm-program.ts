import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { LONG } from "../support/long.ts";
import { type Ended, MAIN, type Program, startProgram } from "./program.ts";

const PROCESS = fileURLToPath(new URL("warm-process.mjs", import.meta.url));
const END_OF_OUTPUT = "\0";

interface Answer {
  readonly code: number;
  /** Whether nothing is left of the command, so that the process can run another one. */
  readonly isFree: boolean;
}

/** The processes of this file of tests that wait for a command. They end together with the process of the file. */
const idle: ChildProcess[] = [];

/** A program that nobody interrupts. */
type Command = Pick<Program, "ended" | "output">;

/** Runs a command of the built program: in a process of its own in a long run, in a warm process otherwise. */
export function runCommand(args: readonly string[], env: Readonly<Record<string, string>> = {}): Command {
  // Node.js itself reads its variables, at the start of a process.
  const needsOwnProcess = LONG || Object.keys(env).some((name) => name.startsWith("NODE_"));
  return needsOwnProcess ? startProgram(args, env) : runWarm(args, env);
}

/**
 * Runs a command in a process that may have run others before. That saves most of the command's time, which Node.js
 * takes to load the program and to compile what is used of it.
 */
export function runWarm(args: readonly string[], env: Readonly<Record<string, string>>): Command {
  const child = idle.pop() ?? fork(PROCESS, [MAIN], { env: {}, execArgv: [], silent: true });
  const stdout = readOutput(child.stdout!);
  const stderr = readOutput(child.stderr!);
  let isOver = false;
  const ended = new Promise<Ended>((resolve) => {
    const end = (code: number | null, signal: NodeJS.Signals | null): void => {
      isOver = true;
      child.off("close", end);
      resolve({ code, signal, stdout: stdout.text(), stderr: stderr.text() });
    };
    child.once("close", end);
    child.once("message", async ({ code, isFree }: Answer) => {
      await Promise.all([stdout.whole, stderr.whole]);
      if (isFree) idle.push(child);
      else child.kill("SIGKILL");
      end(code, null);
    });
  });
  onTestFinished(async () => {
    if (isOver) return;
    child.kill("SIGKILL");
    await once(child, "close");
  });
  child.send({ args, env: { PATH: process.env.PATH ?? "", ...env } });
  return { ended, output: () => stdout.text() + stderr.text() };
}

interface Output {
  readonly text: () => string;
  /** Resolves once the command has printed everything. */
  readonly whole: Promise<void>;
}

function readOutput(stream: Readable): Output {
  let text = "";
  const whole = new Promise<void>((resolve) => {
    stream.setEncoding("utf8").on("data", function read(chunk: string) {
      text += chunk;
      if (!text.endsWith(END_OF_OUTPUT)) return;
      text = text.slice(0, -END_OF_OUTPUT.length);
      stream.off("data", read);
      resolve();
    });
  });
  return { text: () => text, whole };
}
