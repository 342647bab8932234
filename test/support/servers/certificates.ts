import { isIP } from "node:net";
import { generate } from "selfsigned";

/** PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateAuthority {
  /** PEM of the certificate that a client has to trust. */
  readonly cert: string;
  /** A certificate for a server with these names and addresses, or for a client if there are none. */
  issue(hosts: readonly string[], ends?: Date): Promise<Certificate>;
}

const DAY = 86_400_000;
const KEY = { keyType: "ec", algorithm: "sha256" } as const;
const LOCAL = ["localhost", "127.0.0.1"];
const named = (value: string) => [{ name: "commonName", value }];

/** The extensions of a certificate for a server with these names and addresses, or for a client if there are none. */
const servedAt = (hosts: readonly string[]) => [
  { name: "basicConstraints" as const, cA: false, critical: true },
  { name: "keyUsage" as const, digitalSignature: true, critical: true },
  hosts.length > 0
    ? { name: "extKeyUsage" as const, serverAuth: true }
    : { name: "extKeyUsage" as const, clientAuth: true },
  {
    name: "subjectAltName" as const,
    altNames: hosts.map((host) =>
      isIP(host) ? { type: 7 as const, ip: host } : { type: 2 as const, value: host },
    ),
  },
];

/** A server's certificate that only a client trusts that was given it. */
export async function aSelfSignedCertificate(): Promise<Certificate> {
  const { cert, private: key } = await generate(named("a server"), { ...KEY, extensions: servedAt(LOCAL) });
  return { cert, key };
}

/** A new one that nobody trusts yet. */
export async function aCertificateAuthority(name: string): Promise<CertificateAuthority> {
  const own = await generate(named(name), {
    ...KEY,
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      { name: "keyUsage", keyCertSign: true, critical: true },
    ],
  });
  return {
    cert: own.cert,
    issue: async (hosts, ends = new Date(Date.now() + DAY)) => {
      const { cert, private: key } = await generate(named(hosts[0] ?? "a client"), {
        ...KEY,
        ca: { cert: own.cert, key: own.private },
        notBeforeDate: new Date(ends.getTime() - 2 * DAY),
        notAfterDate: ends,
        extensions: servedAt(hosts),
      });
      return { cert, key };
    },
  };
}
