import { randomBytes } from "node:crypto";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onFreePort, startSupervised } from "./embedded-server.ts";
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

const NOT_DURABLE = { fsync: "off", synchronous_commit: "off", full_page_writes: "off" };

/**
 * Starts a PostgreSQL of its own on a free port of 127.0.0.1, with its data in a fresh temporary folder.
 * Needs no cleaning up by exit handlers: it lives as long as this process at most, even if that is killed.
 */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  return onFreePort("could not bind", (port) => startOn(port, options));
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

  const stop = await startSupervised({
    name: "PostgreSQL",
    script: "embedded-postgres.sh",
    args: [folder, bin, ...prefix],
    readyWhen: "ready to accept connections",
  });
  return { url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`, port, stop };
}

const configFile = (settings: Readonly<Record<string, string>>): string =>
  Object.entries(settings)
    .map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`)
    .join("");
