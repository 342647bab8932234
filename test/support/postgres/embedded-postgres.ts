import { randomBytes } from "node:crypto";
import {
  type EmbeddedServer,
  onFreePort,
  type ServerOptions,
  serverFolder,
  startSupervised,
} from "../servers/embedded-server.ts";
import { postgresPrograms } from "./postgres-binaries.ts";

const NOT_DURABLE = { fsync: "off", synchronous_commit: "off", full_page_writes: "off" };

/**
 * Starts a PostgreSQL of its own on a free port of 127.0.0.1, with its data in a fresh temporary folder.
 * The url is that of the database `postgres`.
 * Needs no cleaning up by exit handlers: it lives as long as this process at most, even if that is killed.
 */
export async function startPostgres(options: ServerOptions = {}): Promise<EmbeddedServer> {
  return onFreePort("could not bind", (port) => startOn(port, options));
}

async function startOn(port: number, options: ServerOptions): Promise<EmbeddedServer> {
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
  const folder = serverFolder("postgres", options, () => ({
    password,
    "settings.conf": configFile(settings),
    ...options.files,
  }));
  const { bin, prefix } = postgresPrograms(folder);

  const server = await startSupervised({
    name: "PostgreSQL",
    script: "embedded-postgres.sh",
    args: [folder, bin, ...prefix],
    readyWhen: "ready to accept connections",
  });
  return { url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`, port, ...server };
}

const configFile = (settings: Readonly<Record<string, string>>): string =>
  Object.entries(settings)
    .map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`)
    .join("");
