import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, statfsSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";

export interface ServerOptions {
  /** Commits survive a power cut, as in production. Off by default: tests want speed, benchmarks the truth. */
  readonly durable?: boolean;
  /** More server settings, e.g. `{ timezone: "Asia/Kathmandu" }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Files beside the data folder, for no eyes but the server's; a setting names one as `../name`. */
  readonly files?: Readonly<Record<string, string>>;
}

export interface EmbeddedServer {
  /** The superuser's url, password included. */
  readonly url: string;
  readonly port: number;
  /** What the server has said so far, line by line; it may come a moment late. */
  readonly log: readonly string[];
  /** Stops the server, even with open connections, and removes its data. Idempotent. */
  stop(): Promise<void>;
  /** Kills the server with SIGKILL, and removes its data. */
  kill(): Promise<void>;
}

interface Supervised {
  /** The server's name, for the error when it does not start. */
  readonly name: string;
  /** Is removed when the server has ended. */
  readonly folder?: string;
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** What the server's log says once it takes connections. */
  readonly readyWhen: string;
}

const SUPERVISOR = fileURLToPath(new URL("embedded-program.sh", import.meta.url));
const ATTEMPTS = 5;

/** Starts a server on a free port, and again on another port if its log says `portTaken`. */
export async function onFreePort<T>(portTaken: string, start: (port: number) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await start(await freePort());
    } catch (error) {
      // Between finding a free port and taking it, somebody else may have.
      const taken = error instanceof Error && error.message.includes(portTaken);
      if (!taken || attempt === ATTEMPTS) throw error;
    }
  }
}

/** A fresh temporary folder with files in it, whose texts may name it. The script that runs the server removes it. */
export function serverFolder(
  kind: string,
  { durable = false }: ServerOptions,
  files: (folder: string) => Readonly<Record<string, string>>,
): string {
  const folder = mkdtempSync(join(durable ? tmpdir() : quickestFolder(), `groupsync-${kind}-`));
  for (const [name, text] of Object.entries(files(folder))) {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
  }
  return folder;
}

const IN_MEMORY = "/dev/shm";
/** Many times what the servers of a run need. Containers often have 64 MB. */
const PLENTY = 8 * 2 ** 30;

/** In memory if there is plenty of it: a server that makes and drops tables all the time is twice as fast there. */
function quickestFolder(): string {
  try {
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    const mount = readFileSync("/proc/mounts", "utf8").match(/^\S+ \/dev\/shm tmpfs (\S+)/m);
    // A server may bring a copy of its programs.
    const isUsable = mount?.[1] !== undefined && !/\b(ro|noexec)\b/.test(mount[1]);
    return isUsable && bavail * bsize >= PLENTY ? IN_MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}

/** Waits until the server takes connections. It lives as long as this process at most, even if that is killed. */
export async function startSupervised(
  server: Supervised,
): Promise<Pick<EmbeddedServer, "log" | "stop" | "kill">> {
  const supervisor = spawn("sh", [SUPERVISOR, server.folder ?? "", ...server.command], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, ...server.env },
    // A Ctrl-C at the terminal is for us: the server is needed until we are done.
    detached: true,
  });
  const ended = once(supervisor, "exit");
  const stop = async (): Promise<void> => {
    supervisor.stdin.end();
    await ended;
  };
  const kill = async (): Promise<void> => {
    supervisor.kill("SIGUSR1");
    await ended;
  };
  const log: string[] = [];
  try {
    await untilReady(server, supervisor.stdout, log);
  } catch (error) {
    await stop();
    throw error;
  }
  return { log, stop, kill };
}

function untilReady({ name, readyWhen }: Supervised, output: Readable, log: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    createInterface(output)
      .on("line", (line) => {
        log.push(line);
        if (line.includes(readyWhen)) resolve();
      })
      .on("close", () => reject(new Error([`${name} did not start:`, ...log].join("\n"))));
  });
}

/** Of 127.0.0.1; somebody else may take it at any moment. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no TCP port to be had");
  return address.port;
}
