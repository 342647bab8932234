import { isIP } from "node:net";

interface Certificate {
  /** PEM. Self-signed: a client that adds it to its CA certificates trusts it. */
  readonly cert: string;
  /** PEM. */
  readonly key: string;
}

const LOCAL = ["localhost", "127.0.0.1", "::1"];

/** A self-signed certificate for this machine's local names and `host`, valid for a year from now. */
export async function selfSignedCertificate(host: string): Promise<Certificate> {
  // Load it only with --tls, because loading takes long.
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
