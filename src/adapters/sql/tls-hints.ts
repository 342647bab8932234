import { type TlsDialect, tlsFileNames } from "../../core/database-tls.ts";

type Names = ReturnType<typeof tlsFileNames>;

/** By message: not every driver leaves the codes of OpenSSL and Node.js as they are. */
const HINTS: readonly (readonly [RegExp, (names: Names) => string])[] = [
  [
    /self-signed certificate|certificate signature failure|unable to (verify|get)\b.*\b(certificate|issuer)/i,
    ({ ca }) =>
      `the server's certificate is signed by nobody who is trusted here; name the CA's file in the url: ${ca}=/etc/ssl/my-ca.pem`,
  ],
  [
    /does not match certificate's altnames/i,
    () => "the server's certificate is for another host; write the host that it names into the url",
  ],
  [/certificate has expired/i, () => "the server needs a new certificate"],
  [/certificate is not yet valid/i, () => "compare this host's clock with the server's"],
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
  [
    /unsupported protocol|alert protocol version/i,
    () => "the server knows no TLS from 1.2 on; it needs an upgrade",
  ],
];

/** What an operator can do about an error of TLS itself. */
export function tlsHint(dialect: TlsDialect, error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const found = HINTS.find(([message]) => message.test(error.message));
  return found?.[1](tlsFileNames(dialect));
}
