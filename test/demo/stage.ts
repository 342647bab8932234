import { type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { parse } from "yaml";
import { startPostgres } from "../support/postgres/embedded-postgres.ts";
import { startSupervised } from "../support/servers/embedded-server.ts";

/** What the demo needs: a database, the sandbox, and a shell in its own folder. */
export interface Stage {
  readonly database: pg.Client;
  readonly databaseUrl: string;
  readonly sandbox: { readonly baseUrl: string; readonly apiKey: string };
  /** The working directory of the shell's commands. */
  readonly folder: string;
  /** The environment of the shell's commands. */
  readonly env: NodeJS.ProcessEnv;
  /** Runs a line as a user types it, on this terminal, and returns its exit code. */
  shell(line: string, signal: AbortSignal): Promise<number | null>;
  /** Ends and removes everything. */
  close(): Promise<void>;
}

const PROGRAM = fileURLToPath(new URL("../../dist/main.js", import.meta.url));

/**
 * Starts the database and, with `sandboxCommand`, the sandbox. Needs no exit handlers: both end with this process, even
 * if it is killed.
 */
export async function openStage(sandboxCommand: string): Promise<Stage> {
  const releasers: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const release of releasers.splice(0).reverse()) await release();
  };
  try {
    const postgres = await startPostgres();
    releasers.push(postgres.stop);

    const folder = mkdtempSync(join(tmpdir(), "groupsync-demo-"));
    const bin = join(folder, "bin");
    mkdirSync(bin);
    symlinkSync(PROGRAM, join(bin, "groupsync"));
    const path = [bin, dirname(process.execPath), process.env.PATH].join(delimiter);

    const sandbox = await startSupervised({
      name: "the sandbox",
      folder,
      command: sandboxCommand.split(" "),
      env: { PATH: path },
      readyWhen: "api_key:",
    });
    releasers.push(sandbox.stop);
    const { base_url: baseUrl, api_key: apiKey } = parse(sandbox.log.join("\n")).service;
    const env = { ...process.env, PATH: path };
    const database = new pg.Client({ connectionString: postgres.url });
    await database.connect();
    releasers.push(() => database.end());
    return {
      database,
      databaseUrl: postgres.url,
      sandbox: { baseUrl, apiKey },
      folder,
      env,
      shell: (line, signal) => runLine(line, { cwd: folder, env }, signal),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Runs a line of shell on this terminal. Resolves to its exit code, or to null if a signal ended it, once all processes
 * of the line have ended. If `signal` aborts, sends SIGTERM to all of them.
 */
async function runLine(
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
