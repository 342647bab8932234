import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import type { Mount } from "./machine.ts";

export interface NpmAccess {
  readonly mounts: readonly Mount[];
  readonly env: Readonly<Record<string, string>>;
}

/** What npm needs in a container to get packages as it does outside: from the cache, if the cache has them. */
export function npmAccess(): NpmAccess {
  const cache = setting("cache");
  const userConfig = setting("userconfig");
  return {
    mounts: [
      ...(existsSync(cache) ? [{ source: cache, target: "/root/.npm", writable: true }] : []),
      ...(existsSync(userConfig) ? [{ source: userConfig, target: "/root/.npmrc" }] : []),
      ...trustedFiles().map((path) => ({ source: path, target: path })),
    ],
    env: {
      ...Object.fromEntries(
        Object.entries(process.env).flatMap(([name, value]) =>
          /^(https?_proxy|no_proxy|node_extra_ca_certs)$/i.test(name) && value ? [[name, value]] : [],
        ),
      ),
      npm_config_registry: setting("registry"),
      npm_config_prefer_offline: "true",
    },
  };
}

/** The files with certificates that npm trusts on this machine, beside those that Node.js has itself. */
export const trustedFiles = (): string[] =>
  [setting("cafile"), process.env.NODE_EXTRA_CA_CERTS ?? ""].filter(existsSync);

const setting = (name: string): string =>
  execFileSync("npm", ["config", "get", name], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  }).trim();
