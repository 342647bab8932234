#!/usr/bin/env node
import { cli } from "./cli.ts";

/** argv, environment and signals in; an exit code out. Nothing else touches the process. */
const stopping = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    // The second one doesn't wait: the next run settles what is under way.
    if (stopping.signal.aborted) process.exit(1);
    stopping.abort();
  });
}

process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  // Whoever reads our output may have had enough of it: `groupsync plan | head`.
  if (error.code === "EPIPE") return;
  process.stderr.write(`groupsync: cannot write to standard output: ${error.message}\n`);
  process.exitCode = 1;
});
/** There is nobody left to complain to; the exit code still tells. */
process.stderr.on("error", () => {});

const { env, pid, stdout, stderr } = process;

await cli(
  process.argv.slice(2),
  {
    stdout: (text) => stdout.write(text),
    stderr: (text) => stderr.write(text),
    isTerminal: stdout.isTTY === true && !env.NO_COLOR,
    signal: stopping.signal,
    // Only who asks for it: the other commands end when their terminal is closed.
    onReload: (listener) => process.on("SIGHUP", listener),
    onWarning: (listener) => {
      // Node.js prints them itself, unless it was told not to (--no-warnings): then nobody wants them.
      if (process.listenerCount("warning") === 0) return;
      process.removeAllListeners("warning");
      process.on("warning", listener);
    },
    quit: (code) => process.exit(code),
    finish: (code) => {
      process.exitCode = code;
    },
  },
  { env, pid, isRunning, terminal: stderr.isTTY ? stderr : undefined },
);

// A store's client can leave a connection behind that nobody gets to close: all is said and closed by now.
await Promise.all([stdout, stderr].map((stream) => new Promise((written) => stream.write("", written))));
setTimeout(() => process.exit(), 1_000).unref();

function isRunning(other: number): boolean {
  try {
    process.kill(other, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
