import { type ChildProcessByStdio, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { postgresPrograms } from "./postgres-binaries.ts";

export interface PostgresOptions {
  /** Commits survive a power cut, as in production. Off by default: tests want speed, benchmarks the truth. */
  readonly durable?: boolean;
  /** More server settings, e.g. `{ timezone: "Asia/Kathmandu" }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Files beside the data folder, for no eyes but the server's; a setting names one as `../name`. */
  readonly files?: Readonly<Record<string, string>>;
}

export interface PostgresServer {
  /** The superuser's url of the database `postgres`, password included. */
  readonly url: string;
  readonly port: number;
  /** Stops the server, whoever is connected, and removes its data. May be called again. */
  stop(): Promise<void>;
}

const SUPERVISOR = fileURLToPath(new URL("embedded-postgres.sh", import.meta.url));
const NOT_DURABLE = { fsync: "off", synchronous_commit: "off", full_page_writes: "off" };
const ATTEMPTS = 5;

/**
 * Starts a PostgreSQL of its own on a free port of 127.0.0.1, with its data in a fresh temporary folder.
 * Needs no cleaning up by exit handlers: it lives as long as this process at most, even if that is killed.
 */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOn(await freePort(), options);
    } catch (error) {
      // Between finding a free port and taking it, somebody else may have.
      const portTaken = error instanceof Error && error.message.includes("could not bind");
      if (!portTaken || attempt === ATTEMPTS) throw error;
    }
  }
}

async function startOn(port: number, options: PostgresOptions): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), "groupsync-postgres-"));
  const password = randomBytes(16).toString("hex");
  const settings = {
    port: String(port),
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    max_connections: "200",
    log_min_messages: "log",
    ...(options.durable ? {} : NOT_DURABLE),
    ...options.settings,
  };
  writeFileSync(join(folder, "password"), password);
  writeFileSync(join(folder, "settings.conf"), configFile(settings));
  for (const [name, text] of Object.entries(options.files ?? {})) {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
  }
  const { bin, prefix } = postgresPrograms(folder);

  const supervisor = spawn("sh", [SUPERVISOR, folder, bin, ...prefix], {
    stdio: ["pipe", "pipe", "inherit"],
    // A Ctrl-C at the terminal is for us: the server is needed until we are done.
    detached: true,
  });
  const ended = once(supervisor, "exit");
  const stop = async (): Promise<void> => {
    supervisor.stdin.end();
    await ended;
  };
  try {
    await untilReady(supervisor);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`, port, stop };
}

const configFile = (settings: Readonly<Record<string, string>>): string =>
  Object.entries(settings)
    .map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`)
    .join("");

function untilReady({ stdout }: ChildProcessByStdio<Writable, Readable, null>): Promise<void> {
  const log: string[] = [];
  return new Promise((resolve, reject) => {
    createInterface(stdout)
      .on("line", (line) => {
        log.push(line);
        if (line.includes("ready to accept connections")) resolve();
      })
      .on("close", () => reject(new Error(["PostgreSQL did not start:", ...log].join("\n"))));
  });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no TCP port to be had");
  return address.port;
}
