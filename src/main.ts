#!/usr/bin/env node
/**
 * Passes argv, environment and signals to the program, and sets the exit code. No other file touches the process. To
 * load the program takes a while: import nothing statically here, so that signals are handled from the start.
 */
const stopping = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    // A second signal ends the process at once. The next run settles what is under way.
    if (stopping.signal.aborted) process.exit(1);
    stopping.abort();
  });
}

// By default Node.js would open its inspector on SIGUSR1, which can read all memory, and end on SIGUSR2.
for (const signal of ["SIGUSR1", "SIGUSR2"] as const) process.on(signal, () => {});

/** Whether a SIGHUP came before the command said what to do about it. */
let hungUp = false;
const keepHangUp = (): void => {
  hungUp = true;
};
process.on("SIGHUP", keepHangUp);

process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  // The reader may stop early, as in `groupsync plan | head`. That is no error.
  if (error.code === "EPIPE") return;
  process.stderr.write(`groupsync: cannot write to standard output: ${error.message}\n`);
  process.exitCode = 1;
});
/** Ignored: there is no place left for a message. The exit code still says how the run ended. */
process.stderr.on("error", () => {});

void main();

async function main(): Promise<void> {
  const { env, pid, stdout, stderr } = process;
  const { cli } = await import("./cli.ts");

  await cli(process.argv.slice(2), {
    env,
    pid,
    uid: process.geteuid?.() ?? 0,
    isRunning,
    terminal: stderr.isTTY ? stderr : undefined,
    person: () =>
      process.stdin.isTTY && stdout.isTTY ? { input: process.stdin, output: stdout } : undefined,
    stop: stopping.signal,
    stdout: (text) => stdout.write(text),
    stderr: (text) => stderr.write(text),
    isTerminal: stdout.isTTY === true && !env.NO_COLOR,
    onReload: (listener) => {
      process.on("SIGHUP", listener).off("SIGHUP", keepHangUp);
      if (hungUp) listener();
    },
    endOnHangUp: () => {
      // A listener and not its absence: a signal that Node.js has yet to pass on would be lost without one.
      const end = (): void => {
        process.removeAllListeners("SIGHUP");
        process.kill(pid, "SIGHUP");
      };
      process.on("SIGHUP", end).off("SIGHUP", keepHangUp);
      if (hungUp) end();
    },
    onWarning: (listener) => {
      // Without a listener Node.js was started with --no-warnings. Then stay silent too.
      if (process.listenerCount("warning") === 0) return;
      process.removeAllListeners("warning");
      process.on("warning", listener);
    },
    quit: (code) => process.exit(code),
    finish: (code) => {
      process.exitCode = code;
    },
  });

  // Exit after a second even if a store's client has left a connection open. All output is written by now.
  await Promise.all([stdout, stderr].map((stream) => new Promise((written) => stream.write("", written))));
  setTimeout(() => process.exit(), 1_000).unref();
}

function isRunning(other: number): boolean {
  try {
    process.kill(other, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
