import type { Config } from "./config.ts";
import type { ValueSources } from "./interpolate.ts";
import { loadConfig } from "./load.ts";

interface RereadConfig {
  readonly config: Config;
  /** Makes this config the accepted one. */
  readonly accept: () => void;
}

/**
 * The config of a long-lived process. Edits of the config file take effect only after `reread` and `accept`.
 * The files that `${file:…}` names are read each time, because secrets change on their own.
 */
export class AcceptedConfig {
  readonly #path: string;
  readonly #sources: ValueSources;
  readonly #onSecrets: (() => void) | undefined;
  #text = "";

  /** Throws what `loadConfig` throws. Calls `onSecrets` as `loadConfig` does, now and after each reread. */
  constructor(path: string, sources: ValueSources, onSecrets?: () => void) {
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
    };
  }
}
