import type { Config } from "./config.ts";
import type { ValueSources } from "./interpolate.ts";
import { loadConfig } from "./load.ts";

/**
 * The config as it was accepted, for a process that lives long: a file that somebody is editing changes nothing until
 * it is read again. The files that it names for its secrets are read each time.
 */
export class HeldConfig {
  readonly #path: string;
  readonly #sources: ValueSources;
  #text: string;

  /** Rejects what `loadConfig` rejects. */
  constructor(path: string, sources: ValueSources) {
    this.#path = path;
    this.#sources = sources;
    this.#text = "";
    this.reread();
  }

  /** With the secrets as they are now; throws a SyncError CONFIG_… where they can't be used. */
  current(): Config {
    return this.#load(this.#text);
  }

  /** Takes the file as it is now; throws likewise where it is wrong, and the one before stays. */
  reread(): Config {
    let text: string | undefined;
    const readFile = (path: string): string => {
      const content = this.#sources.readFile(path);
      if (path === this.#path) text = content;
      return content;
    };
    const config = loadConfig(this.#path, { ...this.#sources, readFile });
    this.#text = text ?? this.#text;
    return config;
  }

  #load(text: string): Config {
    const { env, readFile } = this.#sources;
    return loadConfig(this.#path, { env, readFile: (path) => (path === this.#path ? text : readFile(path)) });
  }
}
