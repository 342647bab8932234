import { isThisMachine } from "./this-machine.ts";

/** How the server's certificate is checked: `full` with its host name, `ca` without, `none` not at all. */
export type Verification = "full" | "ca" | "none";

/** PEM: either the paths of the files, or what is in them. */
export interface TlsFiles {
  /** The roots to trust, in place of the usual ones. */
  readonly ca?: string;
  /** The client's own certificate; always together with its key. */
  readonly cert?: string;
  readonly key?: string;
}

export type Tls =
  | { readonly kind: "off" }
  | { readonly kind: "on"; readonly verify: Verification; readonly files: TlsFiles };

export type TlsDialect = "postgres" | "mysql";

interface Spelling {
  readonly mode: string;
  readonly modes: Readonly<Record<string, Verification | "off">>;
  /** These go on without TLS where the server, or whoever poses as it, says that it has none. */
  readonly opportunistic: readonly string[];
  readonly files: Readonly<Record<keyof TlsFiles, string>>;
  /** In place of a CA file: the usual roots. */
  readonly usualRoots?: string;
  /** How TLS begins: after asking for it, or at once. */
  readonly negotiation?: string;
}

/** The names that each database's own clients have for it. MySQL takes its modes in any case. */
const SPELLINGS: Readonly<Record<TlsDialect, Spelling>> = {
  postgres: {
    mode: "sslmode",
    modes: {
      disable: "off",
      require: "full",
      "verify-full": "full",
      "verify-ca": "ca",
      "no-verify": "none",
    },
    opportunistic: ["allow", "prefer"],
    files: { ca: "sslrootcert", cert: "sslcert", key: "sslkey" },
    usualRoots: "system",
    negotiation: "sslnegotiation",
  },
  mysql: {
    mode: "ssl-mode",
    modes: { DISABLED: "off", REQUIRED: "full", VERIFY_IDENTITY: "full", VERIFY_CA: "ca", NO_VERIFY: "none" },
    opportunistic: ["PREFERRED"],
    files: { ca: "ssl-ca", cert: "ssl-cert", key: "ssl-key" },
  },
};

/** What a url calls the parameters that hold the paths of the files. */
export const tlsFileNames = (dialect: TlsDialect): Spelling["files"] => SPELLINGS[dialect].files;

/** All parameters of a url that are about TLS. */
export function tlsParameters(dialect: TlsDialect): readonly string[] {
  const { mode, files, negotiation } = SPELLINGS[dialect];
  return [mode, ...Object.values(files), ...(negotiation === undefined ? [] : [negotiation])];
}

export interface TlsReading {
  /** Without meaning where there are problems. */
  readonly tls: Tls;
  /** What is wrong, and what would be right. */
  readonly problems: readonly string[];
}

/** Where a url leads: a name, an address or the path of a Unix socket. */
export function databaseHost(dialect: TlsDialect, url: string): string {
  const { hostname, searchParams } = new URL(url);
  // PostgreSQL's driver prefers the parameter, which is how a Unix socket is named, and takes the last of several.
  const preferred = dialect === "postgres" ? searchParams.getAll("host").at(-1) : undefined;
  return preferred || decodeURIComponent(hostname) || "localhost";
}

/**
 * Reads what a database url says of TLS. Whoever asks for it, be it with a file alone, has the server verified:
 * `require` is stricter here than in libpq, and `REQUIRED` than in MySQL's own clients. A url that says nothing is plain
 * on this machine, and a problem for any other host.
 */
export function readTls(dialect: TlsDialect, url: string): TlsReading {
  const spelling = SPELLINGS[dialect];
  const given = new URL(url).searchParams;
  const mode = readMode(spelling, dialect, given.get(spelling.mode));
  const files = readFiles(spelling, given);
  const problems = [
    ...tlsParameters(dialect)
      .filter((name) => given.getAll(name).length > 1)
      .map((name) => `the url has ${name} more than once; keep one`),
    ...mode.problems,
    ...fileProblems(spelling, mode.verify, files, given),
    ...negotiationProblems(spelling, mode.verify, given),
  ];
  if (mode.verify === "off") return { tls: { kind: "off" }, problems };
  const isAsked = mode.verify !== undefined || Object.values(spelling.files).some((name) => given.has(name));
  if (isAsked) return { tls: { kind: "on", verify: mode.verify ?? "full", files }, problems };
  const isOpen = problems.length === 0 && !isThisMachine(databaseHost(dialect, url));
  return { tls: { kind: "off" }, problems: isOpen ? [leftOpen(spelling)] : problems };
}

function leftOpen({ mode, modes }: Spelling): string {
  const [off, required] = Object.keys(modes);
  return (
    `the url leads to another host and says nothing of TLS; write ${mode}=${required}, which verifies the server, ` +
    `or ${mode}=${off} if nobody can listen in between, for everything is sent in clear then`
  );
}

interface Mode {
  readonly verify: Verification | "off" | undefined;
  readonly problems: readonly string[];
}

function readMode(
  { mode, modes, opportunistic }: Spelling,
  dialect: TlsDialect,
  written: string | null,
): Mode {
  if (written === null) return { verify: undefined, problems: [] };
  const value = dialect === "mysql" ? written.toUpperCase().replaceAll("-", "_") : written;
  const verify = Object.hasOwn(modes, value) ? modes[value] : undefined;
  if (verify !== undefined) return { verify, problems: [] };
  const [off, required] = Object.keys(modes);
  const problem = opportunistic.includes(value)
    ? `the url's ${mode}=${written} would go on without TLS where it is told that there is none; ` +
      `write ${required}, which insists on it, or ${off}`
    : `the url's ${mode}${shown(written)} is none of ${Object.keys(modes).join(", ")}; ` +
      `${required} is TLS with a verified server`;
  return { verify: undefined, problems: [problem] };
}

function readFiles({ files, usualRoots }: Spelling, given: URLSearchParams): TlsFiles {
  const [ca, cert, key] = [files.ca, files.cert, files.key].map((name) => given.get(name));
  return { ...(ca && ca !== usualRoots && { ca }), ...(cert && { cert }), ...(key && { key }) };
}

function* fileProblems(
  { mode, modes, files: names }: Spelling,
  verify: Mode["verify"],
  files: TlsFiles,
  given: URLSearchParams,
): Generator<string> {
  for (const name of Object.values(names)) {
    if (given.get(name) === "") yield `the url's ${name} is empty; write the path of a PEM file`;
  }
  if (verify === "ca" && files.ca === undefined) {
    const written = Object.keys(modes).find((name) => modes[name] === "ca");
    yield `the url's ${mode}=${written} needs a CA file, like ${names.ca}=/etc/ssl/my-ca.pem; ` +
      "without one, a certificate that a public CA has signed for anybody would do";
  }
  if (given.has(names.cert) !== given.has(names.key)) {
    const [there, missing] = given.has(names.cert) ? [names.cert, names.key] : [names.key, names.cert];
    yield `the url has ${there} without ${missing}; a client's certificate goes together with its key`;
  }
}

function* negotiationProblems(
  { mode, negotiation }: Spelling,
  verify: Mode["verify"],
  given: URLSearchParams,
): Generator<string> {
  const written = negotiation === undefined ? null : given.get(negotiation);
  if (written === null) return;
  if (written !== "postgres" && written !== "direct") {
    yield `the url's ${negotiation}${shown(written)} is none of postgres, direct`;
  }
  if (written === "direct" && (verify === undefined || verify === "off")) {
    yield `the url's ${negotiation}=direct needs TLS; add ${mode}=require`;
  }
}

/** Nothing but a plain word: the rest of a broken url may hold its password. */
const shown = (value: string): string => (/^[\w-]{1,24}$/.test(value) ? `=${value}` : "");
