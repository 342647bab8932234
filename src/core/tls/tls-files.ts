import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { type TlsDialect, type TlsFiles, tlsFileNames } from "./database-tls.ts";

interface TlsFileReading {
  /** The contents of the files. Has no meaning if there are problems. */
  readonly contents: TlsFiles;
  /** What is wrong and what would be right. Names the url's parameter and the file. */
  readonly problems: readonly string[];
}

const CERTIFICATE = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----.*?-----END [^-]*-----/gs;

/** Reads and checks the files that a url names, because a driver ignores a CA file without a certificate. */
export function readTlsFiles(
  dialect: TlsDialect,
  paths: TlsFiles,
  readFile: (path: string) => string,
): TlsFileReading {
  const problems: string[] = [];
  const read = (
    role: keyof TlsFiles,
    what: string,
    isRight: (text: string) => boolean,
  ): string | undefined => {
    const path = paths[role];
    if (path === undefined) return undefined;
    const file = `the file ${path} (${tlsFileNames(dialect)[role]} in the url)`;
    try {
      const text = readFile(path);
      if (isRight(text)) return text;
      problems.push(`${file} is not ${what}; write the path of one in PEM form`);
    } catch (error) {
      const reason = error instanceof Error && "code" in error ? ` (${error.code})` : "";
      problems.push(`${file} cannot be read${reason}; does it exist, and may this user read it?`);
    }
    return undefined;
  };
  const ca = read("ca", "a CA certificate", hasCertificates);
  const cert = read("cert", "a certificate", hasCertificates);
  const key = read("key", "a private key without a passphrase", (text) => privateKey(text) !== undefined);
  if (cert !== undefined && key !== undefined && !belongTogether(cert, key)) {
    const names = tlsFileNames(dialect);
    problems.push(
      `the key in ${paths.key} (${names.key}) is not that of the certificate in ${paths.cert} (${names.cert})`,
    );
  }
  return { contents: { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }, problems };
}

function hasCertificates(text: string): boolean {
  const found = text.match(CERTIFICATE) ?? [];
  return found.length > 0 && found.every((pem) => certificate(pem) !== undefined);
}

function belongTogether(cert: string, key: string): boolean {
  const own = privateKey(key);
  return own !== undefined && certificate(cert)?.checkPrivateKey(own) === true;
}

function certificate(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

function privateKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}
