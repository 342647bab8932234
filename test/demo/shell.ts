import { type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";

/**
 * Runs a line of shell on this terminal and returns its exit code; null where a signal ended it.
 * Resolves when all of its processes have ended. An aborted `signal` asks them to.
 */
export async function runLine(
  line: string,
  options: Pick<SpawnOptions, "cwd" | "env">,
  signal: AbortSignal,
): Promise<number | null> {
  const shell = spawn("sh", ["-c", line], {
    ...options,
    // Every process of the line inherits the pipe, and "close" waits for the last of them.
    stdio: ["ignore", "inherit", "inherit", "pipe"],
    // A process group of its own: a signal to it reaches all of them, and a Ctrl-C only us, who pass it on.
    detached: true,
  });
  const closed = once(shell, "close");
  const stop = (): void => {
    if (shell.pid !== undefined) process.kill(-shell.pid, "SIGTERM");
  };
  signal.addEventListener("abort", stop);
  try {
    shell.stdio[3]?.on("data", () => {});
    const [code] = await closed;
    signal.throwIfAborted();
    return code as number | null;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
