import { describe, SyncError } from "../core/failure/sync-error.ts";
import { Secret } from "../core/secret/secret.ts";
import { isJsonObject } from "../core/text/json.ts";
import { type Config, configSchema } from "./config.ts";
import { type Problem, readDocument } from "./document.ts";
import type { ValueSources } from "./interpolate.ts";
import { problemReport, schemaProblems } from "./problems.ts";

/**
 * Reads and checks the config file; contacts nothing. Throws SyncError `CONFIG_UNREADABLE`, `CONFIG_TLS` if the
 * environment switches off the verification of servers, or `CONFIG_INVALID` with a report of all problems. Calls
 * `onSecrets` if the file itself holds a secret, although `${…}` could name a variable or another file.
 */
export function loadConfig(path: string, sources: ValueSources, onSecrets?: () => void): Config {
  if (sources.env.NODE_TLS_REJECT_UNAUTHORIZED === "0") throw unverified();
  const text = readText(path, sources);
  const { tree, problems, lineOf } = readDocument(text, sources);
  if (tree === undefined) throw invalid(path, problems);
  const result = configSchema.safeParse(tree);
  if (result.success && problems.length === 0) {
    const isInFile = (secret: Secret): boolean => text.includes(secret.reveal());
    if ([...secretsIn(result.data)].some(isInFile)) onSecrets?.();
    return result.data;
  }
  const hasList = isJsonObject(tree) && Array.isArray(tree.tokens);
  const inSchema = result.success ? [] : schemaProblems(result.error, hasList);
  // Say nothing more about a value that could not even be read.
  const isRead = (found: Problem): boolean =>
    !problems.some(
      ({ line, path: unread }) =>
        line === found.line && unread.every((key, index) => String(found.path[index]) === String(key)),
    );
  const located = inSchema.map((problem) => ({ ...problem, line: lineOf(problem.path) }));
  throw invalid(path, [...problems, ...located.filter(isRead)]);
}

/** All secrets of a config, but for the database urls that have no password. */
function* secretsIn(value: unknown): Generator<Secret> {
  if (value instanceof Secret) yield value;
  else if (typeof value === "object" && value !== null) {
    if ("dialect" in value && "url" in value && value.url instanceof Secret && !hasPassword(value.url))
      return;
    for (const inner of Object.values(value)) yield* secretsIn(inner);
  }
}

function hasPassword(url: Secret): boolean {
  const { password, searchParams } = new URL(url.reveal());
  return password !== "" || searchParams.has("password");
}

/** In characters. A config with a thousand mappings has a fifth of this length. */
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

/** With this variable Node.js accepts any certificate, also in the clients of the secret stores. */
const unverified = (): SyncError =>
  new SyncError("CONFIG_TLS", "NODE_TLS_REJECT_UNAUTHORIZED=0 would let anybody pose as any server", {
    hint: "unset it; for a CA of your own, name the file of its certificate in NODE_EXTRA_CA_CERTS",
  });

const invalid = (path: string, problems: readonly Problem[]): SyncError =>
  new SyncError("CONFIG_INVALID", problemReport(path, problems), {
    hint: "config.example.yaml explains every key",
  });
