import { Socket } from "node:net";
import pg, { type ClientConfig } from "pg";
import type { Secret } from "../../../core/secret/secret.ts";
import { databaseHost, tlsParameters } from "../../../core/tls/database-tls.ts";
import { insistOnVersion } from "../../sql/connection/server-version.ts";
import { type TlsSettings, tlsSettings } from "../../sql/connection/tls.ts";
import { FAREWELL, withTimeout } from "../../sql/connection/wait-limits.ts";

/**
 * Stands before each statement. If pgpool balances loads, it has such a statement run by the primary. Otherwise a standby
 * would read a lease or a token as it was a moment ago, and without the settings of the transaction, which the primary has.
 */
const ON_PRIMARY = "/*NO LOAD BALANCE*/ ";

/** A connection that knows which version its server has, and why it was lost. */
export class Client extends pg.Client {
  #version = "";
  #lost: Error | undefined;

  constructor(config?: ClientConfig) {
    super(config);
    // Without a listener a broken connection would end the process. The waiting query rejects in any case.
    this.on("error", (error) => {
      this.#lost ??= error;
    });
    // The server says so while the connection is opened.
    this.connection.on("parameterStatus", ({ parameterName, parameterValue }) => {
      if (parameterName === "server_version") this.#version = parameterValue;
    });
    const { connection } = this;
    const query = connection.query.bind(connection);
    const parse = connection.parse.bind(connection);
    connection.query = (text) => query(ON_PRIMARY + text);
    connection.parse = (statement, more) => parse({ ...statement, text: ON_PRIMARY + statement.text }, more);
  }

  /** See `WaitingSession.lost`. */
  get lost(): Error | undefined {
    return this.#lost;
  }

  /** Throws DATABASE_TOO_OLD. Call once the connection is open. */
  insistOnVersion(): void {
    insistOnVersion("PostgreSQL", this.#version, this.host);
  }
}

/** The options of every connection. Throws SyncError `CONFIG_TLS` if the url asks for TLS that can't be had. */
export function connectionOptions(url: Secret, applicationName: string): ClientConfig {
  const tls = tlsSettings("postgres", url);
  const bare = new URL(url.reveal());
  // The driver would read the TLS parameters itself, print a warning on stderr, and throw bare errors of the file
  // system.
  for (const name of tlsParameters("postgres")) bare.searchParams.delete(name);
  // Name a host in any case: otherwise the driver takes PGHOST, and the TLS settings were made for another host.
  if (bare.hostname === "") bare.searchParams.set("host", databaseHost("postgres", url.reveal()));
  return {
    connectionString: bare.href,
    application_name: applicationName,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    // Set both in any case: otherwise the driver takes PGSSLMODE and PGSSLNEGOTIATION.
    ssl: driverTls(tls),
    sslnegotiation: "postgres",
  };
}

function driverTls(tls: TlsSettings): NonNullable<ClientConfig["ssl"]> {
  if (tls.kind === "off") return false;
  return {
    ...tls.pem,
    rejectUnauthorized: tls.verify !== "none",
    ...(tls.verify === "ca" && { checkServerIdentity: () => undefined }),
  };
}

/** Closes a connection politely; after `FAREWELL` cuts it off, because the server may be gone. Never rejects. */
export const endInTime = (client: pg.Client): Promise<void> => allInTime(client.end(), [client]);

/** Like `endInTime`, for several connections. `ended` resolves when all are closed. */
export async function allInTime(ended: Promise<void>, clients: Iterable<pg.ClientBase>): Promise<void> {
  await withTimeout(FAREWELL, ended).catch(() => {});
  for (const client of clients) socketOf(client)?.destroy();
}

export function socketOf(client: pg.ClientBase): Socket | undefined {
  const { stream } = (client as pg.Client).connection;
  return stream instanceof Socket ? stream : undefined;
}
