import { readableByAll } from "../adapters/host/readable-by-all.ts";
import { readTextFile } from "../adapters/host/text-file.ts";
import type { Config } from "../config/config.ts";
import { loadConfig, type OnSecretsInFile } from "../config/load.ts";
import { type ReadableSecrets, readableSecrets } from "../core/secret/readable-secrets.ts";
import type { Observe } from "../ports/observer.ts";
import type { Host } from "./host.ts";

/** Throws a SyncError with a CONFIG_… code if the file is missing or wrong. */
export const readConfig = (path: string, host: Host, observe: Observe): Config =>
  loadConfig(
    path,
    { env: host.env, readFile: readTextFile },
    warnOfReadable(path, host, (warning) => observe({ kind: "warning", ...warning })),
  );

/** Warns if everybody on this machine can read a config file that has secrets in it. */
export const warnOfReadable =
  (path: string, { uid }: Host, warn: (warning: ReadableSecrets) => void): OnSecretsInFile =>
  (keys) => {
    const file = keys.length > 0 ? readableByAll(path) : undefined;
    if (file) warn(readableSecrets(path, file, keys, uid));
  };
