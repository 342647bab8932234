import type { Config } from "./config.ts";
import type { ValueSources } from "./interpolate.ts";
import { loadConfig } from "./load.ts";

interface RereadConfig {
  readonly config: Config;
  /** Makes this config the accepted one. */
  readonly accept: () => void;
}

/**
 * The config of a long-lived process. Edits of the config file take effect only after `reread` and `accept`. The files that
 * `${file:…}` names are read each time, because secrets change on their own. Throws what `loadConfig` throws. Calls `onSecrets`
 * as `loadConfig` does, now and after each reread.
 */
export function acceptedConfig(path: string, sources: ValueSources, onSecrets?: () => void) {
  let accepted = "";
  /** Loads the config with `textOf` in place of the content of the config file. */
  const loadFrom = (textOf: (path: string) => string, onFound?: () => void): Config => {
    const readFile = (file: string): string => (file === path ? textOf(file) : sources.readFile(file));
    return loadConfig(path, { ...sources, readFile }, onFound);
  };

  /** Reads the config file again. Throws what `loadConfig` throws; then the config that was accepted before stays. */
  function reread(): RereadConfig {
    let text = "";
    const read = (file: string): string => {
      text = sources.readFile(file);
      return text;
    };
    const config = loadFrom(read, onSecrets);
    return {
      config,
      accept: () => {
        accepted = text;
      },
    };
  }

  reread().accept();
  return {
    reread,
    /** The accepted config with the present secrets. Throws a SyncError CONFIG_… if a secret is missing or wrong. */
    current: (): Config => loadFrom(() => accepted),
  };
}
