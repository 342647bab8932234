import { isIP } from "node:net";

export interface Certificate {
  /** PEM; it is its own root, so a client trusts it by adding it to its CA certificates. */
  readonly cert: string;
  /** PEM. */
  readonly key: string;
}

const LOCAL = ["localhost", "127.0.0.1", "::1"];

/** A self-signed certificate, valid from now for a year, for this machine's local names and `host`. */
export async function selfSignedCertificate(host: string): Promise<Certificate> {
  // Only with --tls: it takes long to load.
  const { generate } = await import("selfsigned");
  const names = [...new Set([...LOCAL, host])];
  const { cert, private: key } = await generate([{ name: "commonName", value: "groupsync sandbox" }], {
    keyType: "ec",
    algorithm: "sha256",
    extensions: [
      { name: "basicConstraints", cA: false, critical: true },
      { name: "keyUsage", digitalSignature: true, critical: true },
      { name: "extKeyUsage", serverAuth: true },
      {
        name: "subjectAltName",
        altNames: names.map((name) => (isIP(name) ? { type: 7, ip: name } : { type: 2, value: name })),
      },
    ],
  });
  return { cert, key };
}
