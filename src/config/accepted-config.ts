import type { Config } from "./config.ts";
import type { ValueSources } from "./interpolate.ts";
import { loadConfig, type TellWritten } from "./load.ts";

export interface RereadConfig {
  readonly config: Config;
  /** From now on it is in force. */
  readonly take: () => void;
}

/**
 * The config as it was accepted, for a process that lives long: a file that somebody is editing changes nothing until
 * it is read again. The files that it names for its secrets are read each time.
 */
export class AcceptedConfig {
  readonly #path: string;
  readonly #sources: ValueSources;
  readonly #tell: TellWritten | undefined;
  #text = "";

  /** Rejects what `loadConfig` rejects. `tell` hears of the file now, and each time that it is read again. */
  constructor(path: string, sources: ValueSources, tell?: TellWritten) {
    this.#path = path;
    this.#sources = sources;
    this.#tell = tell;
    this.reread().take();
  }

  /** With the secrets as they are now; throws a SyncError CONFIG_… where they can't be used. */
  current(): Config {
    const { env, readFile } = this.#sources;
    return loadConfig(this.#path, {
      env,
      readFile: (path) => (path === this.#path ? this.#text : readFile(path)),
    });
  }

  /** Reads the file as it is now; throws likewise where it is wrong. The one before stays until this one is taken. */
  reread(): RereadConfig {
    let text = this.#text;
    const readFile = (path: string): string => {
      const content = this.#sources.readFile(path);
      if (path === this.#path) text = content;
      return content;
    };
    const config = loadConfig(this.#path, { ...this.#sources, readFile }, this.#tell);
    return {
      config,
      take: () => {
        this.#text = text;
      },
    };
  }
}
