import { join } from "node:path";
import { onTestFinished, TestRunner } from "vitest";
import { serverUrl } from "../databases/database-server.ts";
import { unpackedPackage } from "../servers/debian-packages.ts";
import {
  type EmbeddedServer,
  onFreePort,
  serverFolder,
  startSupervised,
} from "../servers/embedded-server.ts";
import { skipIfNotToBeHad } from "../servers/not-to-be-had.ts";
import { unprivileged } from "../servers/unprivileged.ts";

export interface PgbouncerOptions {
  readonly mode: "transaction" | "session" | "statement";
  /** Connections to the server, for each role and database. */
  readonly poolSize: number;
  readonly settings?: Readonly<Record<string, string>>;
}

/**
 * Starts Debian's PgBouncer in front of a PostgreSQL. Every role logs in as it does at the server, whose superuser's
 * url this is. The url of the pooler is the same with another port.
 */
export async function startPgbouncer(
  url: string,
  { mode, poolSize, settings = {} }: PgbouncerOptions,
): Promise<EmbeddedServer> {
  const { root, env } = await unpackedPackage("pgbouncer");
  const server = new URL(url);
  return onFreePort("cannot listen", async (port) => {
    const all = {
      listen_addr: "127.0.0.1",
      listen_port: String(port),
      unix_socket_dir: "",
      auth_type: "scram-sha-256",
      auth_file: "users.txt",
      auth_user: server.username,
      auth_query: "SELECT usename, passwd FROM pg_shadow WHERE usename = $1",
      pool_mode: mode,
      default_pool_size: String(poolSize),
      // As its manual advises for drivers that send it at every start of a session.
      ignore_startup_parameters: "extra_float_digits",
      ...settings,
    };
    const folder = serverFolder("pgbouncer", {}, (path) => ({
      "users.txt": `"${server.username}" "${server.password}"\n`,
      "pgbouncer.ini": [
        "[databases]",
        `* = host=${server.hostname} port=${server.port}`,
        "[pgbouncer]",
        ...Object.entries({ ...all, auth_file: join(path, all.auth_file) }).map(
          ([name, value]) => `${name} = ${value}`,
        ),
        "",
      ].join("\n"),
    }));
    const { programs, prefix } = unprivileged(folder, root);
    const started = await startSupervised({
      name: "PgBouncer",
      folder,
      command: [...prefix, join(programs, "usr/sbin/pgbouncer"), join(folder, "pgbouncer.ini")],
      env,
      readyWhen: "process up",
    });
    return { url: Object.assign(new URL(url), { port: String(port) }).href, port, ...started };
  });
}

/**
 * The same database through a PgBouncer that the running test has for itself. Skips the test if there is none to be had.
 */
export async function behindPgbouncer(url: string, options: PgbouncerOptions): Promise<string> {
  const pooler = await startPgbouncer(serverUrl("postgres"), options).catch((error: unknown) => {
    const test = TestRunner.getCurrentTest();
    if (!test) throw error;
    return skipIfNotToBeHad(error, test.context);
  });
  onTestFinished(() => pooler.stop());
  return Object.assign(new URL(url), { port: String(pooler.port), hostname: "127.0.0.1" }).href;
}
