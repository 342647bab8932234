import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { NotToBeHad } from "./not-to-be-had.ts";

/** A package's files, below `root` as they would be below `/`. Its programs run in `env`. */
interface UnpackedPackage {
  readonly root: string;
  readonly env: Readonly<Record<string, string>>;
}

interface UnpackOptions {
  /** Whether the packages that it needs, and that are not installed here, come with it; true by default. */
  readonly withDependencies?: boolean;
  /** More packages that come along. */
  readonly with?: readonly string[];
  /** A release of Debian by its name, whatever runs here: the package comes with all that it needs, the C library too. */
  readonly release?: string;
}

const CACHE = fileURLToPath(new URL("../../../node_modules/.cache/groupsync-debian/", import.meta.url));
/** Longer than any mirror that works needs for 100 MB, in milliseconds. */
const PATIENCE = 240_000;

const run = promisify(execFile);

/** The path of an installed program. An ordinary user of Debian doesn't have /usr/sbin in the PATH. */
export const installedProgram = (name: string): string | undefined =>
  [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin"]
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));

/**
 * Downloads a package of Debian and unpacks it into a cache without installing it, which needs neither root nor dpkg. Throws
 * NotToBeHad if there is no apt, or if no mirror can be reached.
 */
export async function unpackedPackage(name: string, options: UnpackOptions = {}): Promise<UnpackedPackage> {
  const root = join(CACHE, [name, options.release, process.arch].filter(Boolean).join("-"));
  await downloadedOnce(name, root, async (folder) => {
    await downloadPackages(name, options, folder);
    for (const file of await readdir(folder)) {
      if (file.endsWith(".deb")) await run("dpkg-deb", ["-x", join(folder, file), join(folder, "root")]);
    }
    return join(folder, "root");
  });
  return { root, env: { LD_LIBRARY_PATH: await libraryPath(root) } };
}

/**
 * Has `download` fill a temporary folder and say what of it becomes `root`, unless `root` is there. It is there once everything
 * is in it, and not before: two runs may download at once. Throws NotToBeHad if the download fails.
 */
export async function downloadedOnce(
  name: string,
  root: string,
  download: (folder: string) => Promise<string>,
): Promise<void> {
  if (existsSync(root)) return;
  await mkdir(dirname(root), { recursive: true });
  const folder = await mkdtemp(join(dirname(root), "download-"));
  try {
    await rename(await download(folder), root);
  } catch (error) {
    if (!existsSync(root)) throw new NotToBeHad(name, error);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The package lists may be missing, as in most container images, or be older than what the mirror has. */
async function downloadPackages(
  name: string,
  { withDependencies = true, with: others = [], release }: UnpackOptions,
  folder: string,
): Promise<void> {
  const names = [name, ...others];
  const downloadWith = async (options: readonly string[]): Promise<void> => {
    const needed = withDependencies ? await notInstalled(names, options, folder) : [];
    await apt([...options, "download", ...new Set([...names, ...needed])], folder);
  };
  if (release !== undefined) return downloadWith(await packageListsOf(release, folder));
  try {
    await downloadWith([]);
  } catch {
    const options = await ownPackageLists(folder);
    await downloadWith(options);
  }
}

/** Likewise of another release, as if nothing of it were installed. */
async function packageListsOf(release: string, folder: string): Promise<readonly string[]> {
  const sources = join(folder, "sources.list");
  const status = join(folder, "status");
  await writeFile(sources, `deb ${await mirror(folder)} ${release} main\n`);
  await writeFile(status, "");
  const only = [
    `Dir::Etc::sourcelist=${sources}`,
    "Dir::Etc::sourceparts=/dev/null",
    `Dir::State::status=${status}`,
  ];
  return ownPackageLists(
    folder,
    only.flatMap((option) => ["-o", option]),
  );
}

/** Where this machine takes Debian from: the place that has its own release has the others too. */
async function mirror(folder: string): Promise<string> {
  const lists = await ownPackageLists(folder);
  const format = ["--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian", "Component: main"];
  const [uri = ""] = (await apt([...lists, "indextargets", ...format], folder)).split("\n");
  if (uri === "") throw new Error("apt names no mirror of Debian");
  return uri;
}

/** apt says which packages these need here that are not installed: their names differ by release. */
async function notInstalled(
  names: readonly string[],
  options: readonly string[],
  folder: string,
): Promise<readonly string[]> {
  const plan = await apt([...options, "--simulate", "--no-install-recommends", "install", ...names], folder);
  return [...plan.matchAll(/^Inst (\S+)/gm)].flatMap(([, found]) => found ?? []);
}

/** Fetches package lists that need no root, and gives the options that make apt use them. */
async function ownPackageLists(folder: string, from: readonly string[] = []): Promise<readonly string[]> {
  const lists = join(folder, "lists");
  const cache = join(folder, "cache");
  await mkdir(join(lists, "partial"), { recursive: true });
  await mkdir(join(cache, "archives/partial"), { recursive: true });
  const options = [...from, "-o", `Dir::State::lists=${lists}`, "-o", `Dir::Cache=${cache}`];
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
