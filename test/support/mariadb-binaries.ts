import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, realpath, rename, rm } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** How to run the MariaDB server, in `env`. */
export interface MariadbPrograms {
  readonly mariadbd: string;
  /** What the server finds its messages in. */
  readonly share: string;
  /** The SQL files that make the system tables, in their order. */
  readonly systemTables: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const PACKAGE = "mariadb-server-core";
const SERVER = "mariadbd";
const CACHE = fileURLToPath(new URL("../../node_modules/.cache/groupsync-mariadb/", import.meta.url));
/** Longer than any mirror that works needs for 10 to 20 MB, in milliseconds. */
const PATIENCE = 120_000;

const run = promisify(execFile);

/**
 * Finds an installed MariaDB server, or downloads Debian's and unpacks it, without installing it: that needs
 * neither root nor a running dpkg. Fails where there is no apt, or no mirror within reach.
 */
export async function mariadbPrograms(): Promise<MariadbPrograms> {
  const installed = installedServer();
  if (installed) return programsOf(await realpath(installed), {});
  const root = join(CACHE, `root-${process.arch}`);
  if (!existsSync(root)) await download(root);
  return programsOf(join(root, "usr/sbin", SERVER), { LD_LIBRARY_PATH: await libraryPath(root) });
}

/** An ordinary user of Debian doesn't have /usr/sbin in the PATH. */
const installedServer = (): string | undefined =>
  [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin"]
    .map((folder) => join(folder, SERVER))
    .find((path) => existsSync(path));

/** Until MariaDB 11 the files have MySQL's name. */
function programsOf(mariadbd: string, env: MariadbPrograms["env"]): MariadbPrograms {
  for (const name of ["mariadb", "mysql"]) {
    const share = join(dirname(mariadbd), "../share", name);
    const systemTables = [
      `${name}_system_tables.sql`,
      `${name}_performance_tables.sql`,
      `${name}_system_tables_data.sql`,
      "maria_add_gis_sp_bootstrap.sql",
      `${name}_sys_schema.sql`,
    ].map((file) => join(share, file));
    if (systemTables.every((file) => existsSync(file))) return { mariadbd, share, systemTables, env };
  }
  throw new Error(`${mariadbd} has no SQL files for its system tables beside it, in ../share`);
}

/** `root` is there once everything is in it, and not before: two runs may download at once. */
async function download(root: string): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  const folder = await mkdtemp(join(CACHE, "download-"));
  try {
    await downloadPackages(folder);
    for (const file of await readdir(folder)) {
      if (file.endsWith(".deb")) await run("dpkg-deb", ["-x", join(folder, file), join(folder, "root")]);
    }
    await rename(join(folder, "root"), root);
  } catch (error) {
    if (!existsSync(root)) throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The package lists may be missing, as in most container images, or be older than what the mirror has. */
async function downloadPackages(folder: string): Promise<void> {
  try {
    await downloadWith([], folder);
  } catch {
    const options = await ownPackageLists(folder);
    await downloadWith(options, folder);
  }
}

/** apt says which packages the server needs here that are not installed: their names differ by release. */
async function downloadWith(options: readonly string[], folder: string): Promise<void> {
  const plan = await apt([...options, "--simulate", "--no-install-recommends", "install", PACKAGE], folder);
  const missing = [...plan.matchAll(/^Inst (\S+)/gm)].flatMap(([, name]) => name ?? []);
  await apt([...options, "download", ...missing], folder);
}

/** Fetches package lists that need no root, and gives the options that make apt use them. */
async function ownPackageLists(folder: string): Promise<readonly string[]> {
  const lists = join(folder, "lists");
  const cache = join(folder, "cache");
  await mkdir(join(lists, "partial"), { recursive: true });
  await mkdir(join(cache, "archives/partial"), { recursive: true });
  const options = ["-o", `Dir::State::lists=${lists}`, "-o", `Dir::Cache=${cache}`];
  // One repository of several that can't be had is an error here, and perhaps no matter for what follows.
  await apt([...options, "update"], folder).catch(() => {});
  return options;
}

async function apt(args: readonly string[], cwd: string): Promise<string> {
  const patience = ["-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=20"];
  const env = { ...process.env, LC_ALL: "C" };
  const { stdout } = await run("apt-get", [...patience, ...args], { cwd, env, timeout: PATIENCE });
  return stdout;
}

async function libraryPath(root: string): Promise<string> {
  const found: string[] = [];
  for (const parent of [join(root, "lib"), join(root, "usr/lib")]) {
    if (!existsSync(parent)) continue;
    const folders = await readdir(parent);
    found.push(...folders.filter((name) => name.includes("-linux-")).map((name) => join(parent, name)));
  }
  return found.join(delimiter);
}
