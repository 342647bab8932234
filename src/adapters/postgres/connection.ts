import type { ClientConfig } from "pg";
import { tlsParameters } from "../../core/database-tls.ts";
import type { Secret } from "../../core/secret.ts";
import { type TlsSettings, tlsSettings } from "../sql/tls.ts";

/** How every connection is made. Throws SyncError `CONFIG_TLS` where what the url says of TLS can't be done. */
export function connectionOptions(url: Secret, applicationName: string): ClientConfig {
  const ssl = driverTls(tlsSettings("postgres", url));
  const bare = new URL(url.reveal());
  const isDirect = bare.searchParams.get("sslnegotiation") === "direct";
  // The driver would prefer its own reading of them: with a warning on stderr, and the file system's errors as they are.
  for (const name of tlsParameters("postgres")) bare.searchParams.delete(name);
  return {
    connectionString: bare.href,
    application_name: applicationName,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    ...(ssl !== undefined && { ssl }),
    ...(isDirect && { sslnegotiation: "direct" }),
  };
}

/** Undefined leaves it to the driver, which then goes by PGSSLMODE. */
function driverTls(tls: TlsSettings | undefined): ClientConfig["ssl"] {
  if (tls === undefined) return undefined;
  if (tls.kind === "off") return false;
  return {
    ...tls.pem,
    rejectUnauthorized: tls.verify !== "none",
    ...(tls.verify === "ca" && { checkServerIdentity: () => undefined }),
  };
}
