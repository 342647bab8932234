import type * as z from "zod";
import { describe, SyncError } from "../core/failure/sync-error.ts";
import { Secret } from "../core/secret/secret.ts";
import { isJsonObject } from "../core/text/json.ts";
import { quantity } from "../core/text/quantity.ts";
import { type Config, configSchema } from "./config.ts";
import { type Problem, readDocument } from "./document.ts";
import type { ValueSources } from "./interpolate.ts";

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
      hint: "name it with --config or GROUPSYNC_CONFIG; `groupsync init` writes one",
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
    hint: "`groupsync schema` describes every key",
  });

/** What the schema finds wrong. `hasList` says whether the file has a list of token stores. */
const schemaProblems = ({ issues }: z.ZodError, hasList: boolean): Omit<Problem, "line">[] =>
  issues.flatMap(separate).map(({ path: keys, message }) => {
    const path = keys.map((key) => (typeof key === "symbol" ? String(key) : key));
    // The schema makes a list of a single store, so the file has no index for it.
    if (path[0] === "tokens" && !hasList) path.splice(1, 1);
    return { path, message };
  });

type Issue = Pick<z.core.$ZodIssue, "path" | "message">;

/** Zod has one issue for all unknown keys of a section, and one for all forms that a value may have. */
function separate(issue: z.core.$ZodIssue): Issue[] {
  if (issue.code === "unrecognized_keys") {
    const messages = issue.message.split("\n");
    return issue.keys.map((key, index) => ({ path: [...issue.path, key], message: messages[index] ?? "" }));
  }
  if (issue.code !== "invalid_union") return [issue];
  // The form that was meant is the one of the value's type. If there is none, the union itself has the message.
  const meant = issue.errors.find(
    (found) => !found.some(({ code, path }) => code === "invalid_type" && path.length === 0),
  );
  if (meant === undefined) return [issue];
  return meant.flatMap(separate).map(({ path, message }) => ({ path: [...issue.path, ...path], message }));
}

/** Nobody reads more. If there are more, they are all of the same kind, or the file isn't a config. */
const MOST_SHOWN = 100;

/** The problems as one text, in the order of the file. */
function problemReport(file: string, problems: readonly Problem[]): string {
  const shown = problems.toSorted((a, b) => a.line - b.line).slice(0, MOST_SHOWN);
  const width = String(shown.at(-1)?.line ?? "").length;
  const lines = shown.map(({ line, path, message }) => {
    const key = path.length === 0 ? "" : `${path.map(segment).join(".")}: `;
    return `  line ${String(line).padEnd(width)}  ${key}${message}`;
  });
  const more = problems.length - shown.length;
  return [
    `${file} has ${quantity(problems.length, "problem")}:`,
    ...lines,
    ...(more > 0 ? [`  … and ${more} more`] : []),
  ].join("\n");
}

/** Hides what follows a colon, because `api_key:abc`, which lacks a space, is a key to YAML. */
const segment = (key: string | number): string => {
  const shown = String(key).replace(/:.*/s, ":…");
  return /^[\w-]+$/.test(shown) ? shown : JSON.stringify(shown);
};
