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
const named = (value: string) => [{ name: "commonName", value }];

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
        extensions: [
          { name: "basicConstraints", cA: false, critical: true },
          { name: "keyUsage", digitalSignature: true, critical: true },
          hosts.length > 0
            ? { name: "extKeyUsage", serverAuth: true }
            : { name: "extKeyUsage", clientAuth: true },
          {
            name: "subjectAltName",
            altNames: hosts.map((host) => (isIP(host) ? { type: 7, ip: host } : { type: 2, value: host })),
          },
        ],
      });
      return { cert, key };
    },
  };
}
