import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import {
  type EmbeddedServer,
  onFreePort,
  type ServerOptions,
  serverFolder,
  startSupervised,
} from "../servers/embedded-server.ts";
import { unprivileged } from "../servers/unprivileged.ts";
import {
  germanPostgresPrograms,
  INSTALLED_VERSION,
  type PostgresPrograms,
  type PostgresVersion,
  postgresPrograms,
} from "./postgres-binaries.ts";

export interface PostgresOptions extends ServerOptions {
  /** The newest by default; another one is downloaded. */
  readonly version?: PostgresVersion;
  /** All its messages are German, also those of its log. Debian's PostgreSQL is downloaded then. */
  readonly isGerman?: boolean;
  /** A data folder to start from, in place of a new one, and the password in it. */
  readonly data?: { readonly folder: string; readonly password: string };
}

/**
 * To the C library, messages in C are English whatever LANGUAGE says. C.UTF-8 is there on every machine, and de_DE is not.
 */
const GERMAN = { lc_messages: "C.UTF-8" };

const NOT_DURABLE = { fsync: "off", synchronous_commit: "off", full_page_writes: "off" };

/**
 * Starts a PostgreSQL of its own on a free port of 127.0.0.1, with its data in a fresh temporary folder.
 * The url is that of the database `postgres`.
 * Needs no cleaning up by exit handlers: it lives as long as this process at most, even if that is killed.
 */
export async function startPostgres(options: PostgresOptions = {}): Promise<EmbeddedServer> {
  const { version = INSTALLED_VERSION, isGerman } = options;
  const programs = await (isGerman ? germanPostgresPrograms() : postgresPrograms(version));
  return onFreePort(isGerman ? "nicht binden" : "could not bind", (port) => startOn(port, programs, options));
}

async function startOn(
  port: number,
  { root, bin, version, env }: PostgresPrograms,
  options: PostgresOptions,
): Promise<EmbeddedServer> {
  const password = options.data?.password ?? randomBytes(16).toString("hex");
  const settings = {
    port: String(port),
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    max_connections: "200",
    log_min_messages: "log",
    ...(options.durable ? {} : NOT_DURABLE),
    ...(options.isGerman && GERMAN),
    ...options.settings,
  };
  const folder = serverFolder("postgres", options, () => ({
    password,
    "settings.conf": configFile(settings),
    ...options.files,
  }));
  if (options.data) execFileSync("cp", ["-a", options.data.folder, join(folder, "data")]);
  const { programs, prefix } = unprivileged(folder, root);

  const server = await startSupervised({
    name: `PostgreSQL ${version}`,
    folder,
    command: ["sh", "-euc", makeAndRun(version), "sh", folder, join(programs, bin), ...prefix],
    env,
    readyWhen: options.isGerman ? "ist bereit, um" : "ready to accept",
  });
  return { url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`, port, ...server };
}

/** The script's last arguments are what runs the programs as somebody other than root. */
const makeAndRun = (version: number): string => `
  folder=$1 bin=$2
  shift 2
  # A copy of another server's data may be there already.
  if [ ! -d "$folder/data" ]; then
    "$@" "$bin/initdb" --pgdata="$folder/data" --username=postgres --pwfile="$folder/password" \\
      --auth=scram-sha-256 --encoding=UTF8 --no-locale --no-sync ${initdbOptions(version).join(" ")}
  fi
  cat "$folder/settings.conf" >>"$folder/data/postgresql.conf"
  exec "$@" "$bin/postgres" -D "$folder/data"`;

/**
 * A default collation other than C, so that nothing gets the order of bytes by accident. A client hashes its password as
 * often as the server asks for at every login: 4,096 times takes it longer than the rest of connecting.
 */
const initdbOptions = (version: number): readonly string[] => [
  ...(version >= 15 ? ["--locale-provider=icu", "--icu-locale=en-US"] : []),
  ...(version >= 16 ? ["--set", "scram_iterations=1"] : []),
];

const configFile = (settings: Readonly<Record<string, string>>): string =>
  Object.entries(settings)
    .map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`)
    .join("");
