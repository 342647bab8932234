/**
 * A process that has loaded the built program, and runs one command after the other. The first argument is main.js.
 * warm-program.ts sends each command. Its exit code is the answer, and a NUL byte ends its output on both streams.
 */
import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { cli } = await import(new URL("cli.js", pathToFileURL(process.argv[2])).href);
const { pid, stdout, stderr } = process;
const stop = new AbortController().signal;

process.on("disconnect", () => process.exit());
process.on("message", async ({ args, env }) => {
  process.env = env;
  let exitCode = 0;
  const io = {
    stdout: (text) => stdout.write(text),
    stderr: (text) => stderr.write(text),
    isTerminal: false,
    signal: stop,
    onReload() {},
    endOnHangUp() {},
    onWarning: (listener) => process.removeAllListeners("warning").on("warning", listener),
    quit: (code) => process.exit(code),
    finish: (code) => {
      exitCode = code;
    },
  };
  const host = {
    env,
    pid,
    uid: process.geteuid(),
    isRunning: (other) => existsSync(`/proc/${other}`),
    terminal: undefined,
    person: () => undefined,
    stop,
  };
  await cli(args, io, host);
  for (const stream of [stdout, stderr]) stream.write("\0");
  process.send(exitCode);
});
