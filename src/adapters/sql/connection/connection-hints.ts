import { type TlsDialect, tlsFileNames } from "../../../core/tls/database-tls.ts";

/** The hint for a lock that another session holds for too long. */
export const LOCKED =
  "let that session end its work, or end it; if no session is named, look at the server's sessions. The next run tries again";

/** The hint for a database, or a pooler in front of it, that has no connection to spare. */
export const NO_ROOM =
  "perhaps a pooler has no connection to spare: a sync uses three at once, and groupsync check tries that. Else look at the server, and at what is in between";

/** Hints by error code. */
const NETWORK: Readonly<Record<string, string>> = {
  ECONNREFUSED: "is the database running, and are host and port in the url right?",
  ENOTFOUND: "the host in the url is not known; is it spelled right?",
  EAI_AGAIN: "the host in the url could not be looked up; does DNS work here?",
  ETIMEDOUT: "the host doesn't answer; is a firewall in between?",
};

const SILENCE = /the database has not answered/;
const HOLDER = /; held by /;

type FileNames = ReturnType<typeof tlsFileNames>;

/** Hints by error message, because not every driver keeps the codes of OpenSSL and Node.js. */
const TLS: readonly (readonly [RegExp, (names: FileNames) => string])[] = [
  [
    /self-signed certificate|certificate signature failure|unable to (verify|get)\b.*\b(certificate|issuer)/i,
    ({ ca }) =>
      `the server's certificate is signed by nobody who is trusted here; name the CA's file in the url: ${ca}=/etc/ssl/my-ca.pem`,
  ],
  [
    /does not match certificate's altnames/i,
    () => "the server's certificate is for another host; write the host that it names into the url",
  ],
  [
    /server does not support (SSL|secure) connection/i,
    () =>
      "the url asks for TLS, and this server has none: set up its certificate, or is host or port another's?",
  ],
  [
    /alert (certificate required|unknown ca|bad certificate|certificate expired)/i,
    ({ cert, key }) =>
      `the server doesn't take the client's certificate; check ${cert} and ${key} in the url`,
  ],
];

/** What an operator can do about an error of the network or of TLS, before any server has answered. */
export function connectionHint(dialect: TlsDialect, error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  if (SILENCE.test(error.message)) return HOLDER.test(error.message) ? LOCKED : NO_ROOM;
  const tls = TLS.find(([message]) => message.test(error.message));
  return NETWORK[code] ?? tls?.[1](tlsFileNames(dialect));
}
