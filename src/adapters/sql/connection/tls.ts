import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { SyncError } from "../../../core/failure/sync-error.ts";
import type { Secret } from "../../../core/secret/secret.ts";
import {
  readTls,
  type TlsDialect,
  type TlsFiles,
  tlsFileNames,
  type Verification,
} from "../../../core/tls/database-tls.ts";

/** The TLS settings for a driver, with the contents of the files. */
export type TlsSettings =
  | { readonly kind: "off" }
  | { readonly kind: "on"; readonly verify: Verification; readonly pem: TlsFiles };

/**
 * The TLS settings of a database url. Throws CONFIG_TLS if the url doesn't say whether a connection to another host is
 * encrypted, has a wrong setting, or names a bad file.
 */
export function tlsSettings(dialect: TlsDialect, url: Secret): TlsSettings {
  const { tls, problems } = readTls(dialect, url.reveal());
  const [problem] = problems;
  if (problem !== undefined) throw tlsError(problem);
  return tls.kind === "off" ? tls : { kind: "on", verify: tls.verify, pem: readFiles(dialect, tls.files) };
}

function readFiles(dialect: TlsDialect, { ca, cert, key }: TlsFiles): TlsFiles {
  const names = tlsFileNames(dialect);
  return {
    ...(ca !== undefined && { ca: readCa(ca, names.ca) }),
    ...(cert !== undefined && key !== undefined && readClientCertificate(cert, key, names)),
  };
}

/** Checks the file, because a driver ignores one without a certificate. */
function readCa(path: string, parameter: string): string {
  const ca = readPem(path, parameter);
  if (hasCertificates(ca)) return ca;
  throw tlsError(
    `the file ${path} (${parameter} in the url) is not a CA certificate; write the path of one in PEM form`,
  );
}

function readClientCertificate(
  certPath: string,
  keyPath: string,
  names: ReturnType<typeof tlsFileNames>,
): Pick<TlsFiles, "cert" | "key"> {
  const cert = readPem(certPath, names.cert);
  const key = readPem(keyPath, names.key);
  if (belongTogether(cert, key)) return { cert, key };
  throw tlsError(
    `the files ${certPath} and ${keyPath} (${names.cert} and ${names.key} in the url) are not a certificate ` +
      "and its private key, in PEM form and without a passphrase",
  );
}

function readPem(path: string, parameter: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const reason = error instanceof Error && "code" in error ? ` (${error.code})` : "";
    throw tlsError(
      `the file ${path} (${parameter} in the url) cannot be read${reason}; does it exist, and may this user read it?`,
    );
  }
}

const CERTIFICATE = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----.*?-----END [^-]*-----/gs;

/** Whether every certificate of the text can be read. */
const hasCertificates = (text: string): boolean =>
  passes(() => (text.match(CERTIFICATE) ?? []).map((pem) => new X509Certificate(pem)).length > 0);

const belongTogether = (cert: string, key: string): boolean =>
  passes(() => new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)));

/** False if the check throws, because the text can't be read. */
function passes(check: () => boolean): boolean {
  try {
    return check();
  } catch {
    return false;
  }
}

const tlsError = (message: string): SyncError => new SyncError("CONFIG_TLS", message);
