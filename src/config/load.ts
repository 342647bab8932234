import { describe, SyncError } from "../core/failure/sync-error.ts";
import { readDocument } from "./document/document.ts";
import type { ValueSources } from "./document/interpolate.ts";
import { type Problem, problemReport, startsWith } from "./document/problem-report.ts";
import type { Config } from "./model/config.ts";
import { configSchema } from "./schema/schema.ts";
import { schemaProblems } from "./schema-problems.ts";
import { secretsInFile } from "./secrets-in-file.ts";
import { tlsFileProblems } from "./tls-file-problems.ts";

/** Gets the keys whose secrets stand in the config file itself; possibly none. */
export type OnSecretsInFile = (keys: readonly string[]) => void;

/**
 * Reads and checks the config file; contacts nothing. Throws SyncError `CONFIG_UNREADABLE`, `CONFIG_TLS` if the
 * environment switches off the verification of servers, or `CONFIG_INVALID` with a report of all problems.
 */
export function loadConfig(path: string, sources: ValueSources, onSecrets?: OnSecretsInFile): Config {
  if (sources.env.NODE_TLS_REJECT_UNAUTHORIZED === "0") throw unverified();
  const document = readDocument(readText(path, sources), sources);
  if (document.tree === undefined) throw invalid(path, document.problems);
  const result = configSchema.safeParse(document.tree);
  const inFiles = tlsFileProblems(document, sources.readFile);
  if (result.success && document.problems.length === 0 && inFiles.length === 0) {
    onSecrets?.(secretsInFile(document, result.data));
    return result.data;
  }
  const found = result.error === undefined ? [] : schemaProblems(document, result.error);
  // Say nothing more about a value that could not even be read.
  const known = (problem: Problem): boolean =>
    document.problems.some(({ line, path: keys }) => line === problem.line && startsWith(problem.path, keys));
  throw invalid(path, [...document.problems, ...found.filter((problem) => !known(problem)), ...inFiles]);
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
