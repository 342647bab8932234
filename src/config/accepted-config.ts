import { MissingColumns, SyncError } from "../core/failure/sync-error.ts";
import { columnUses } from "../core/group/group-rules.ts";
import type { Config } from "./config.ts";
import { type ConfigDocument, readDocument } from "./document.ts";
import type { ValueSources } from "./interpolate.ts";
import { loadConfig, type OnSecretsInFile } from "./load.ts";
import { type Problem, problemReport } from "./problems.ts";
import { closest } from "./section.ts";

interface RereadConfig {
  readonly config: Config;
  /** Makes this config the accepted one. */
  readonly accept: () => void;
  /** An error about its columns with the places in the file. Returns any other error as it is. */
  readonly located: (error: unknown) => unknown;
}

/**
 * The config of a long-lived process. Edits of the config file take effect only after `reread` and `accept`.
 * The files that `${file:…}` names are read each time, because secrets change on their own.
 */
export class AcceptedConfig {
  readonly #path: string;
  readonly #sources: ValueSources;
  readonly #onSecrets: OnSecretsInFile | undefined;
  #text = "";

  /** Throws what `loadConfig` throws. `onSecrets` is called now and after each reread. */
  constructor(path: string, sources: ValueSources, onSecrets?: OnSecretsInFile) {
    this.#path = path;
    this.#sources = sources;
    this.#onSecrets = onSecrets;
    this.reread().accept();
  }

  /** The accepted config with the present secrets. Throws a SyncError CONFIG_… if a secret is missing or wrong. */
  current(): Config {
    const { env, readFile } = this.#sources;
    return loadConfig(this.#path, {
      env,
      readFile: (path) => (path === this.#path ? this.#text : readFile(path)),
    });
  }

  /** Reads the config file again. Throws what `loadConfig` throws; then the config that was accepted before stays. */
  reread(): RereadConfig {
    let text = this.#text;
    const readFile = (path: string): string => {
      const content = this.#sources.readFile(path);
      if (path === this.#path) text = content;
      return content;
    };
    const config = loadConfig(this.#path, { ...this.#sources, readFile }, this.#onSecrets);
    return {
      config,
      accept: () => {
        this.#text = text;
      },
      located: (error) =>
        locatedColumns(error, this.#path, config, readDocument(text, { ...this.#sources, readFile })),
    };
  }
}

/** The same error with key and line of each column, and with the column that may be meant. Returns any other error as it is. */
function locatedColumns(
  error: unknown,
  path: string,
  { source, group }: Config,
  { lineOf }: ConfigDocument,
): unknown {
  if (!(error instanceof MissingColumns)) return error;
  const { column } = source.changes;
  const uses = [
    ...columnUses(group).map(({ keys, column: name }) => ({ path: ["group", ...keys], name })),
    ...(column ? [{ path: ["source", "changes", "column"], name: column }] : []),
  ];
  const problems: Problem[] = uses
    .filter(({ name }) => error.missing.includes(name))
    .map((use) => ({ line: lineOf(use.path), path: use.path, message: messageOf(use.name, error) }));
  return new SyncError("CONFIG_COLUMNS", problemReport(path, problems), {
    ...(error.hint !== undefined && { hint: error.hint }),
    cause: error,
  });
}

function messageOf(name: string, { source, there }: MissingColumns): string {
  const close = closest(name, there);
  const remedy = close === undefined ? `its columns are ${there.join(", ")}` : `did you mean "${close}"?`;
  return `${source} has no column ${name}; ${remedy}`;
}
