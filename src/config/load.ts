import { describe, SyncError } from "../core/errors.ts";
import type { Config } from "./config.ts";
import { type ConfigDocument, type Place, readDocument } from "./document.ts";
import type { ValueSources } from "./interpolate.ts";
import { type Problem, report, startsWith } from "./problems.ts";
import { configSchema } from "./schema.ts";
import { tlsFileProblems } from "./tls-files.ts";
import { writtenSecrets } from "./written-secrets.ts";

/** Hears of the keys whose secrets stand in the config file itself, if any. */
export type TellWritten = (keys: readonly string[]) => void;

/**
 * Reads and checks the config file; contacts nothing.
 * Throws SyncError `CONFIG_UNREADABLE`, `CONFIG_TLS` where the environment switches off what the config relies on, or
 * `CONFIG_INVALID` with a report of all problems as its message.
 */
export function loadConfig(path: string, sources: ValueSources, tell?: TellWritten): Config {
  if (sources.env.NODE_TLS_REJECT_UNAUTHORIZED === "0") throw unverified();
  const document = readDocument(readText(path, sources), sources);
  if (document.tree === undefined) throw invalid(path, document.problems);
  const result = configSchema.safeParse(document.tree);
  const inFiles = tlsFileProblems(document, sources.readFile);
  if (result.success && document.problems.length === 0 && inFiles.length === 0) {
    tell?.(writtenSecrets(document, result.data));
    return result.data;
  }
  const found = (result.error?.issues ?? []).map(({ path: keys, message }): Problem => {
    const at = keys.map((key) => (typeof key === "symbol" ? String(key) : key));
    const place = document.find(at);
    return { line: place.line, path: at, message: fillIn(message, place, document.find) };
  });
  // A value that could not even be read is not measured against what it should be.
  const known = (problem: Problem): boolean =>
    document.problems.some(({ line, path: keys }) => line === problem.line && startsWith(problem.path, keys));
  throw invalid(path, [...document.problems, ...found.filter((problem) => !known(problem)), ...inFiles]);
}

/** In characters. A config of a thousand mappings has a fifth of this. */
const LONGEST_TEXT = 256 * 1024;

function readText(path: string, { readFile }: ValueSources): string {
  try {
    const text = readFile(path);
    if (text.length > LONGEST_TEXT) throw new Error(`it is larger than ${LONGEST_TEXT / 1024} KiB`);
    return text;
  } catch (cause) {
    throw new SyncError("CONFIG_UNREADABLE", `cannot read the config file: ${describe(cause)}`, {
      hint: `name it with --config or GROUPSYNC_CONFIG; config.example.yaml shows what belongs in it`,
      cause,
    });
  }
}

/** Node.js would then take any certificate, also for the clients of the secret stores. */
const unverified = (): SyncError =>
  new SyncError("CONFIG_TLS", "NODE_TLS_REJECT_UNAUTHORIZED=0 would let anybody pose as any server", {
    hint: "unset it; for a CA of your own, name the file of its certificate in NODE_EXTRA_CA_CERTS",
  });

const invalid = (path: string, problems: readonly Problem[]): SyncError =>
  new SyncError("CONFIG_INVALID", report(path, problems), { hint: "config.example.yaml explains every key" });

/** A secret is shown only where the file names it without holding any part of it; nor is what looks like a url. */
function fillIn(message: string, { written }: Place, find: ConfigDocument["find"]): string {
  const isNamed = typeof written === "string" && /^\$\{(\w+|file:[^}]*)\}$/.test(written);
  const secret = isNamed || written === null ? show(written) : "the value";
  const value = typeof written === "string" && written.includes("://") ? secret : show(written);
  return message
    .replace("{value}", () => value)
    .replace("{secret}", () => secret)
    .replace(/\{line of ([\w.]+)\}/, (_, key: string) => `line ${find(key.split(".")).line}`);
}

function show(written: Place["written"]): string {
  if (written === undefined) return "this";
  if (written === null || written === "") return "an empty value";
  const text = typeof written === "string" ? JSON.stringify(written) : String(written);
  return text.length <= 60 ? text : `${text.slice(0, 58)}…"`;
}
