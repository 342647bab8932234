import { spawnSync } from "node:child_process";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { anIo } from "../commands/an-io.ts";
import { serverUrl } from "../support/databases/database-server.ts";
import { someOf } from "../support/long.ts";
import { BENCHMARKS } from "./benchmarks.ts";
import { type StartGroupsync, type StartTlsSandbox, startGroupsync } from "./program.ts";
import { serveTls } from "./tls-sandbox.ts";

const CLI = new URL("../../dist/cli.js", import.meta.url).href;
const { cli }: typeof import("../../src/cli.ts") = await import(CLI);

/** The benchmarks that need a program of the machine. */
const PROGRAMS = { psql: ["unchanged"], python3: ["scripts"] };

/** The tiny form of `ten-million` is that of `unchanged`. */
const { "ten-million": _, ...DIFFERENT } = BENCHMARKS;

/** Runs the built program in this process, because to start another takes longer than all that a tiny form does. */
const runHere: StartGroupsync = (args, env) => {
  // Variables such as NODE_EXTRA_CA_CERTS have an effect on a new process only.
  if (env !== undefined) return startGroupsync(args, env);
  const stopping = new AbortController();
  const { signal } = stopping;
  const { io, printed } = anIo();
  const stdout = new PassThrough();
  const host = {
    env: process.env,
    pid: process.pid,
    uid: process.geteuid?.() ?? 0,
    isRunning: () => true,
    terminal: undefined,
    person: () => undefined,
    stop: signal,
  };
  const ended = cli(args, { ...io, stdout: (text) => stdout.write(text), ...host }).then(() => {
    stdout.end();
    return printed.code;
  });
  return { pid: process.pid, stdout, stderr: () => printed.stderr, ended, stop: () => stopping.abort() };
};

/** Runs the sandbox in this process. */
const tlsHere: StartTlsSandbox = (...args) => {
  const stopping = new AbortController();
  const stdout = new PassThrough();
  const ended = serveTls(args, (text) => stdout.write(text), stopping.signal)
    .finally(() => stdout.end())
    .then(() => null);
  return { pid: process.pid, stdout, stderr: () => "", ended, stop: () => stopping.abort() };
};

// No figure is judged: they depend on the machine, and on what else it does.
test.for(someOf(Object.entries(DIFFERENT)))(
  "%s prints its figures, in the tiny form",
  async ([name, benchmark], { skip }) => {
    for (const [program, users] of Object.entries(PROGRAMS))
      skip(users.includes(name) && spawnSync(program, ["--version"]).error !== undefined, `no ${program}`);
    const lines: string[] = [];
    const print = (line: string): void => void lines.push(line);
    await benchmark.run("tiny", serverUrl(benchmark.server), {
      groupsync: runHere,
      tlsSandbox: tlsHere,
      print,
    });
    expect(lines[0]).toMatch(/^\([a-h]\) /);
    expect(lines.length).toBeGreaterThan(1);
    for (const line of lines.slice(1)) expect(line).toMatch(/^ {4}.*\d/);
    // This is what becomes of a time that was never measured.
    expect(lines.join("\n")).not.toMatch(/NaN|Infinity|undefined/);
  },
);
