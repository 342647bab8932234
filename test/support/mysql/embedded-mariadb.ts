import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import {
  type EmbeddedServer,
  onFreePort,
  type ServerOptions,
  serverFolder,
  startSupervised,
} from "../servers/embedded-server.ts";
import { type MariadbPrograms, mariadbPrograms } from "./mariadb-binaries.ts";

export interface MariadbOptions extends ServerOptions {
  /** The superuser's; a random one by default. */
  readonly password?: string;
  /** Variables of its process. LD_LIBRARY_PATH is searched after the server's own. */
  readonly env?: Readonly<Record<string, string>>;
  /** What the log says once the server takes statements. */
  readonly readyWhen?: string;
}

const NOT_DURABLE = {
  // No fsync at all: CREATE TABLE and DROP DATABASE spend most of their time in it.
  debug_no_sync: "1",
  sync_frm: "0",
  innodb_flush_log_at_trx_commit: "0",
  innodb_doublewrite: "0",
  innodb_flush_method: "nosync",
};

/**
 * Starts a MariaDB of its own on a free port of 127.0.0.1, with its data in a fresh temporary folder.
 * The url names no database.
 * Needs no cleaning up by exit handlers: it lives as long as this process at most, even if that is killed.
 */
export async function startMariadb(options: MariadbOptions = {}): Promise<EmbeddedServer> {
  const programs = await mariadbPrograms();
  return onFreePort("Bind on TCP/IP port", (port) => startOn(port, programs, options));
}

async function startOn(
  port: number,
  programs: MariadbPrograms,
  options: MariadbOptions,
): Promise<EmbeddedServer> {
  const password = options.password ?? randomBytes(16).toString("hex");
  const settings = (folder: string) => ({
    datadir: join(folder, "data"),
    tmpdir: folder,
    lc_messages_dir: programs.share,
    user: userInfo().username,
    port: String(port),
    bind_address: "127.0.0.1",
    skip_name_resolve: "1",
    socket: "",
    max_connections: "200",
    ...(options.durable ? {} : NOT_DURABLE),
    ...options.settings,
  });
  const folder = serverFolder("mariadb", options, (path) => ({
    "settings.cnf": configFile(settings(path)),
    "bootstrap.sql": bootstrapScript(programs, password),
    ...options.files,
  }));
  const server = await startSupervised({
    name: "MariaDB",
    folder,
    command: ["sh", "-euc", MAKE_AND_RUN, "sh", folder, programs.mariadbd],
    env: {
      ...options.env,
      LD_LIBRARY_PATH: [programs.env, options.env]
        .map((env) => env?.LD_LIBRARY_PATH)
        .filter(Boolean)
        .join(":"),
    },
    readyWhen: options.readyWhen ?? "ready for connections",
  });
  return { url: `mysql://root:${password}@127.0.0.1:${port}/`, port, ...server };
}

const MAKE_AND_RUN = `
  folder=$1 mariadbd=$2
  mkdir "$folder/data"
  "$mariadbd" --defaults-file="$folder/settings.cnf" --bootstrap --loose-wsrep-on=OFF <"$folder/bootstrap.sql"
  # As mariadbd-safe does: starts the server again after a SIGKILL.
  until "$mariadbd" --defaults-file="$folder/settings.cnf" || [ $? -ne 137 ]; do :; done`;

const configFile = (settings: Readonly<Record<string, string>>): string =>
  [
    "[mariadbd]",
    ...Object.entries(settings).map(([name, value]) => `${name} = "${value.replaceAll("\\", "\\\\")}"`),
    "",
  ].join("\n");

/** What mariadb-install-db does, and one superuser with a password. The server takes one statement a line. */
const bootstrapScript = ({ systemTables }: MariadbPrograms, password: string): string =>
  [
    "CREATE DATABASE mysql;",
    "USE mysql;",
    "SET @auth_root_socket = NULL;",
    ...systemTables.map((file) => readFileSync(file, "utf8")),
    "DELETE FROM global_priv WHERE User <> 'mariadb.sys';",
    "FLUSH PRIVILEGES;",
    `CREATE USER root@'%' IDENTIFIED BY '${password}';`,
    "GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION;",
    "",
  ].join("\n");
