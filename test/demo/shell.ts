import { type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";

/**
 * Runs a line of shell on this terminal. Resolves to its exit code, or to null if a signal ended it, once all processes
 * of the line have ended. If `signal` aborts, sends SIGTERM to all of them.
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
    // Gives the line its own process group: a signal to the group reaches all processes of the line. A Ctrl-C at the
    // terminal reaches only this process, which passes it on.
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
