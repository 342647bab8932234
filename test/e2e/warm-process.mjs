/**
 * A process that has loaded the built program, and runs one command after the other. The first argument is main.js.
 * warm-program.ts sends each command. A NUL byte ends its output on both streams, and the answer is its exit code
 * with whether the process can run another command.
 */
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
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
    onReload() {},
    endOnHangUp() {},
    onWarning: (listener) => process.removeAllListeners("warning").on("warning", listener),
    quit: (code) => process.exit(code),
    finish: (code) => {
      exitCode = code;
    },
    env,
    pid,
    uid: process.geteuid(),
    isRunning: (other) => existsSync(`/proc/${other}`),
    terminal: undefined,
    person: () => undefined,
    stop,
  };
  await cli(args, io);
  for (const stream of [stdout, stderr]) stream.write("\0");
  process.send({ code: exitCode, isFree: await isFree() });
});

/** Whether the last command has left nothing open. A connection takes some milliseconds to close. */
async function isFree() {
  for (let attempt = 0; attempt < 20; attempt++) {
    if (process.getActiveResourcesInfo().every((name) => name === "PipeWrap")) return true;
    await sleep(5);
  }
  return false;
}
