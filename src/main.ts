#!/usr/bin/env node
/**
 * argv, environment and signals in; an exit code out. Nothing else touches the process. The signals are taken before
 * the rest of the program is loaded, which takes most of a second: nothing is imported statically here.
 */
const stopping = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    // The second one doesn't wait: the next run settles what is under way.
    if (stopping.signal.aborted) process.exit(1);
    stopping.abort();
  });
}

// Node.js would open its inspector, which reads all memory, and end at the other one.
for (const signal of ["SIGUSR1", "SIGUSR2"] as const) process.on(signal, () => {});

/** Until it is known whether the command takes a SIGHUP, one that comes is kept for whoever does. */
let hungUp = false;
const keepHangUp = (): void => {
  hungUp = true;
};
process.on("SIGHUP", keepHangUp);

process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  // Whoever reads our output may have had enough of it: `groupsync plan | head`.
  if (error.code === "EPIPE") return;
  process.stderr.write(`groupsync: cannot write to standard output: ${error.message}\n`);
  process.exitCode = 1;
});
/** There is nobody left to complain to; the exit code still tells. */
process.stderr.on("error", () => {});

const { env, pid, stdout, stderr } = process;
const { cli } = await import("./cli.ts");

await cli(
  process.argv.slice(2),
  {
    stdout: (text) => stdout.write(text),
    stderr: (text) => stderr.write(text),
    isTerminal: stdout.isTTY === true && !env.NO_COLOR,
    signal: stopping.signal,
    onReload: (listener) => {
      process.on("SIGHUP", listener).off("SIGHUP", keepHangUp);
      if (hungUp) listener();
    },
    endOnHangUp: () => {
      process.off("SIGHUP", keepHangUp);
      if (hungUp) process.kill(pid, "SIGHUP");
    },
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
  {
    env,
    pid,
    uid: process.geteuid?.() ?? 0,
    isRunning,
    terminal: stderr.isTTY ? stderr : undefined,
    stop: stopping.signal,
  },
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
