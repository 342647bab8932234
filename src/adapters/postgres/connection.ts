import type { ClientConfig } from "pg";
import { databaseHost, tlsParameters } from "../../core/database-tls.ts";
import type { Secret } from "../../core/secret.ts";
import { type TlsSettings, tlsSettings } from "../sql/tls.ts";

/** How every connection is made. Throws SyncError `CONFIG_TLS` where what the url says of TLS can't be done. */
export function connectionOptions(url: Secret, applicationName: string): ClientConfig {
  const tls = tlsSettings("postgres", url);
  const bare = new URL(url.reveal());
  const isDirect = bare.searchParams.get("sslnegotiation") === "direct";
  // The driver would prefer its own reading of them: with a warning on stderr, and the file system's errors as they are.
  for (const name of tlsParameters("postgres")) bare.searchParams.delete(name);
  // Else PGHOST would say where, and nobody has looked whether that is on this machine.
  if (bare.hostname === "") bare.searchParams.set("host", databaseHost("postgres", url.reveal()));
  return {
    connectionString: bare.href,
    application_name: applicationName,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    // Both are always said: where they are left out, the driver goes by PGSSLMODE and PGSSLNEGOTIATION.
    ssl: driverTls(tls),
    sslnegotiation: isDirect ? "direct" : "postgres",
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
