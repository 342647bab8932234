import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import mysql from "mysql2/promise";
import { databaseError } from "../../../../src/adapters/sql/connection/failures.ts";
import type { Database } from "../../../../src/adapters/sql/dialect/database.ts";
import type { DatabaseKind } from "../../../support/databases/database-server.ts";
import { startMariadb } from "../../../support/mysql/embedded-mariadb.ts";
import { mariadbPrograms } from "../../../support/mysql/mariadb-binaries.ts";
import { startPostgres } from "../../../support/postgres/embedded-postgres.ts";
import type { Certificate } from "../../../support/servers/certificates.ts";
import { aDatabase } from "../ledger/ledger-database.ts";

export interface TlsServer {
  /** By the IP address, without a word of TLS. */
  readonly url: string;
  stop(): Promise<void>;
}

export interface ServerCertificate extends Certificate {
  /** PEM; where it is there, clients have to show a certificate that this CA has signed. */
  readonly clientCa?: string;
}

/** A kind of database, as far as TLS goes. */
export interface TlsDatabase {
  readonly name: string;
  /** Whether this machine can start one. */
  readonly isThere: boolean;
  /** Its names for what the tests ask for. */
  readonly words: Readonly<
    Record<"mode" | "ca" | "cert" | "key" | "off" | "on" | "caOnly" | "unverified", string>
  >;
  start(certificate?: ServerCertificate): Promise<TlsServer>;
  /** Whether connections to it are encrypted, by the server's own word. Rejects with a SyncError. */
  isEncrypted(url: string): Promise<boolean>;
}

const postgres: TlsDatabase = {
  name: "PostgreSQL",
  isThere: true,
  words: {
    mode: "sslmode",
    ca: "sslrootcert",
    cert: "sslcert",
    key: "sslkey",
    off: "disable",
    on: "require",
    caOnly: "verify-ca",
    unverified: "no-verify",
  },
  start: async (certificate) => {
    if (certificate === undefined) return startPostgres();
    const { cert, key, clientCa } = certificate;
    const files = { "server.pem": cert, "server.key": key };
    const settings = { ssl: "on", ssl_cert_file: "../server.pem", ssl_key_file: "../server.key" };
    if (clientCa === undefined) return startPostgres({ settings, files });
    const rules = accessRules("hostssl all all all scram-sha-256 clientcert=verify-ca");
    const server = await startPostgres({
      settings: { ...settings, ssl_ca_file: "../clients.pem", hba_file: rules.file },
      files: { ...files, "clients.pem": clientCa },
    });
    return { url: server.url, stop: () => server.stop().finally(rules.remove) };
  },
  isEncrypted: async (url) =>
    asked(
      aDatabase(url, "postgres", { maxConnections: 1 }),
      "SELECT ssl::text AS answer FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
      "true",
    ),
};

const mariadb: TlsDatabase = {
  name: "MariaDB",
  // Where it can't, the global setup says so aloud.
  isThere: await mariadbPrograms().then(
    () => true,
    () => false,
  ),
  words: {
    mode: "ssl-mode",
    ca: "ssl-ca",
    cert: "ssl-cert",
    key: "ssl-key",
    off: "DISABLED",
    on: "REQUIRED",
    caOnly: "VERIFY_CA",
    unverified: "no-verify",
  },
  start: async (certificate) => {
    // From 11.4 on it makes a certificate where it is given none.
    if (certificate === undefined) return inItsDatabase(await startMariadb({ settings: { skip_ssl: "1" } }));
    const { cert, key, clientCa } = certificate;
    const server = await startMariadb({
      settings: {
        ssl_cert: "../server.pem",
        ssl_key: "../server.key",
        ...(clientCa !== undefined && { ssl_ca: "../clients.pem" }),
      },
      files: { "server.pem": cert, "server.key": key, "clients.pem": clientCa ?? "" },
    });
    if (clientCa !== undefined) {
      const connection = await mysql.createConnection({ uri: server.url });
      await connection.query("ALTER USER CURRENT_USER() REQUIRE X509");
      await connection.end();
    }
    return inItsDatabase(server);
  },
  isEncrypted: async (url) =>
    asked(
      aDatabase(url, "mysql", { maxConnections: 1 }),
      `SELECT variable_value <> '' AS answer FROM information_schema.session_status
       WHERE variable_name = 'Ssl_cipher'`,
      "1",
    ),
};

/** The one that a server has from the beginning. */
const inItsDatabase = ({ url, stop }: TlsServer): TlsServer => ({ url: `${url}mysql`, stop });

async function asked(database: Database, question: string, yes: string): Promise<boolean> {
  try {
    const [row] = await database.query<{ answer: unknown }>(question);
    return String(row?.answer) === yes;
  } catch (error) {
    throw databaseError(database.dialect, "SOURCE_UNAVAILABLE", "cannot ask", error);
  }
}

/** A pg_hba.conf: of all settings it alone takes no path that begins at the data. */
function accessRules(line: string): { readonly file: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), "groupsync-tls-"));
  // The server may run as somebody else.
  chmodSync(folder, 0o755);
  writeFileSync(join(folder, "pg_hba.conf"), `${line}\n`);
  return { file: join(folder, "pg_hba.conf"), remove: () => rmSync(folder, { recursive: true }) };
}

export const TLS_DATABASES: Readonly<Record<DatabaseKind, TlsDatabase>> = { postgres, mysql: mariadb };
