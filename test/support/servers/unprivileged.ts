import { execFileSync, spawnSync } from "node:child_process";
import { cpSync } from "node:fs";
import { join } from "node:path";

/** How to run a server that refuses root: `[...prefix, join(programs, "bin/server"), ...args]`. */
export interface Unprivileged {
  readonly programs: string;
  readonly prefix: readonly string[];
}

const NOBODY = 65534;
const AS_A_USER_OF_ITS_OWN = ["unshare", "--user", "--map-user=1000", "--map-group=1000"];
const AS_NOBODY = ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];

/** Makes sure that the user who runs the server can read `programs`, and write to `folder`. */
export function unprivileged(folder: string, programs: string): Unprivileged {
  if (process.getuid?.() !== 0) return { programs, prefix: [] };
  if (runs(AS_A_USER_OF_ITS_OWN)) return { programs, prefix: AS_A_USER_OF_ITS_OWN };
  if (!runs(AS_NOBODY)) {
    throw new Error("this server refuses to run as root, and neither unshare nor setpriv works here");
  }
  // Nobody can't be expected to reach root's folders: it gets a copy.
  const copy = join(folder, "programs");
  cpSync(programs, copy, { recursive: true, verbatimSymlinks: true });
  execFileSync("chown", ["-R", `${NOBODY}:${NOBODY}`, folder]);
  return { programs: copy, prefix: AS_NOBODY };
}

const runs = ([program = "", ...args]: readonly string[]): boolean =>
  spawnSync(program, [...args, "true"]).status === 0;
