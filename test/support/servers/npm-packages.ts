import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { NotToBeHad } from "./not-to-be-had.ts";

const CACHE = fileURLToPath(new URL("../../../node_modules/.cache/groupsync-npm/", import.meta.url));
/** Longer than a registry that works needs for 30 MB, in milliseconds. */
const PATIENCE = 240_000;

const run = promisify(execFile);

/**
 * Downloads this version of a package and unpacks it into a cache, without its dependencies and without running its
 * scripts. Throws NotToBeHad if no registry can be reached. Resolves to the package's folder.
 */
export async function unpackedNpmPackage(name: string, version: string): Promise<string> {
  const root = join(CACHE, `${name.replaceAll(/[@/]+/g, "-").replace(/^-/, "")}-${version}`);
  if (existsSync(root)) return root;
  await mkdir(CACHE, { recursive: true });
  const folder = await mkdtemp(join(CACHE, "download-"));
  try {
    const pack = ["pack", "--ignore-scripts", "--silent", `${name}@${version}`];
    await run("npm", pack, { cwd: folder, timeout: PATIENCE });
    const [archive = ""] = await readdir(folder);
    await run("tar", ["-xzf", archive, "--no-same-owner"], { cwd: folder });
    // Two runs may download at once.
    await rename(join(folder, "package"), root);
  } catch (error) {
    if (!existsSync(root)) throw new NotToBeHad(`${name}@${version}`, error);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return root;
}
