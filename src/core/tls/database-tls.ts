/** How the certificate of the server is checked: `full` with the host name, `ca` without it, `none` not at all. */
export type Verification = "full" | "ca" | "none";

/** PEM files: either their paths or their contents. */
export interface TlsFiles {
  /** The CA certificates to trust in place of the usual CAs. */
  readonly ca?: string;
  /** The client's own certificate. Always together with its key. */
  readonly cert?: string;
  readonly key?: string;
}

type Tls =
  | { readonly kind: "off" }
  | { readonly kind: "on"; readonly verify: Verification; readonly files: TlsFiles };

export type TlsDialect = "postgres" | "mysql";

/** The parameters of a database url that are about TLS. */
interface TlsParameters {
  readonly mode: string;
  readonly modes: Readonly<Record<string, Verification | "off">>;
  readonly files: Readonly<Record<keyof TlsFiles, string>>;
  /** The value that names the usual CAs in place of a CA file. */
  readonly usualRoots?: string;
}

/** The names that each database's own clients use. MySQL takes its modes in capitals and small letters. */
const PARAMETERS: Readonly<Record<TlsDialect, TlsParameters>> = {
  postgres: {
    mode: "sslmode",
    modes: {
      disable: "off",
      require: "full",
      "verify-full": "full",
      "verify-ca": "ca",
      "no-verify": "none",
    },
    files: { ca: "sslrootcert", cert: "sslcert", key: "sslkey" },
    usualRoots: "system",
  },
  mysql: {
    mode: "ssl-mode",
    modes: { DISABLED: "off", REQUIRED: "full", VERIFY_IDENTITY: "full", VERIFY_CA: "ca", NO_VERIFY: "none" },
    files: { ca: "ssl-ca", cert: "ssl-cert", key: "ssl-key" },
  },
};

/** The names of the url parameters that hold the paths of the files. */
export const tlsFileNames = (dialect: TlsDialect): TlsParameters["files"] => PARAMETERS[dialect].files;

/** The names of all url parameters that are about TLS. */
export function tlsParameters(dialect: TlsDialect): readonly string[] {
  const { mode, files } = PARAMETERS[dialect];
  return [mode, ...Object.values(files)];
}

interface TlsReading {
  /** Has no meaning if there are problems. */
  readonly tls: Tls;
  /** What is wrong, and what would be right. */
  readonly problems: readonly string[];
}

/** The host of a url: a name, an address or the path of a Unix socket. */
export function databaseHost(dialect: TlsDialect, url: string): string {
  const { hostname, searchParams } = new URL(url);
  // PostgreSQL's driver prefers the parameter `host`, which can name a Unix socket, and takes the last of several.
  const preferred = dialect === "postgres" ? searchParams.getAll("host").at(-1) : undefined;
  return preferred || decodeURIComponent(hostname) || "localhost";
}

/**
 * Reads what a database url says about TLS. Every parameter that asks for TLS, even a file alone, has the server verified:
 * `require` is stricter here than in libpq, and `REQUIRED` is stricter than in MySQL's own clients. A url that says
 * nothing means no TLS on this machine, and is a problem for any other host.
 */
export function readTls(dialect: TlsDialect, url: string): TlsReading {
  const { mode, modes, files: names, usualRoots } = PARAMETERS[dialect];
  const given = new URL(url).searchParams;
  const problems = tlsParameters(dialect)
    .filter((name) => given.getAll(name).length > 1)
    .map((name) => `the url has ${name} more than once; keep one`);

  const [off, required] = Object.keys(modes);
  const written = given.get(mode);
  const value = dialect === "mysql" ? written?.toUpperCase().replaceAll("-", "_") : written;
  const verify = typeof value === "string" && Object.hasOwn(modes, value) ? modes[value] : undefined;
  // The modes that go on without TLS if anybody says that the server has none, such as prefer, are none of these.
  if (written !== null && verify === undefined)
    problems.push(
      `the url's ${mode}${shown(written)} is none of ${Object.keys(modes).join(", ")}; ` +
        `${required} is TLS with a verified server`,
    );

  const [ca, cert, key] = [names.ca, names.cert, names.key].map((name) => given.get(name));
  const files = { ...(ca && ca !== usualRoots && { ca }), ...(cert && { cert }), ...(key && { key }) };
  for (const name of Object.values(names))
    if (given.get(name) === "") problems.push(`the url's ${name} is empty; write the path of a PEM file`);
  if (verify === "ca" && files.ca === undefined)
    problems.push(
      `the url's ${mode}=${value} needs a CA file, like ${names.ca}=/etc/ssl/my-ca.pem; ` +
        "without one, a certificate that a public CA has signed for anybody would do",
    );
  if (given.has(names.cert) !== given.has(names.key)) {
    const [there, missing] = given.has(names.cert) ? [names.cert, names.key] : [names.key, names.cert];
    problems.push(
      `the url has ${there} without ${missing}; a client's certificate goes together with its key`,
    );
  }

  if (verify === "off") return { tls: { kind: "off" }, problems };
  const isAsked = verify !== undefined || Object.values(names).some((name) => given.has(name));
  if (isAsked) return { tls: { kind: "on", verify: verify ?? "full", files }, problems };
  if (problems.length === 0 && !isLoopback(databaseHost(dialect, url)))
    problems.push(
      `the url leads to another host and says nothing of TLS; write ${mode}=${required}, which verifies the server, ` +
        `or ${mode}=${off} if nobody can listen in between, for everything is sent in clear then`,
    );
  return { tls: { kind: "off" }, problems };
}

/** Shows a plain word only, because another value may be a piece of a password in a broken url. */
const shown = (value: string): string => (/^[\w-]{1,24}$/.test(value) ? `=${value}` : "");

/** Four numbers and nothing else, because `127.0.0.1.example.com` is a host name. */
const LOOPBACK = /^127(?:\.(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}$/;

/** Whether data for this host stays on this machine. A host is a name, an address or the path of a Unix socket. */
export const isLoopback = (host: string): boolean =>
  host.startsWith("/") || LOOPBACK.test(host) || ["localhost", "::1", "[::1]"].includes(host.toLowerCase());

/** Whether data for this url leaves the machine without TLS. */
export const isPlainHttpToAnotherHost = ({
  protocol,
  hostname,
}: Pick<URL, "protocol" | "hostname">): boolean => protocol === "http:" && !isLoopback(hostname);

/**
 * - `verified`: by TLS, and the server has shown that it is the right one.
 * - `unverified`: by TLS, with whoever answers.
 * - `clear`: without TLS, to another machine.
 * - `local`: without TLS, on this machine.
 */
export type ConnectionPrivacy = "verified" | "unverified" | "clear" | "local";

/** How what goes over the connection of a valid database url is kept from others. */
export function connectionPrivacy(dialect: TlsDialect, url: string): ConnectionPrivacy {
  const { tls } = readTls(dialect, url);
  if (tls.kind === "on") return tls.verify === "none" ? "unverified" : "verified";
  return isLoopback(databaseHost(dialect, url)) ? "local" : "clear";
}
