import { lstat, mkdir, open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { SecretStoreFailure } from "./secret-store.ts";
import { systemCodeOf } from "./system-error.ts";

const OWNER_ONLY = { folder: 0o700, file: 0o600 };

/**
 * Makes a folder, and those around it that are missing. One at a time: mkdir's `recursive` never returns in Node.js 20
 * where a file system such as /proc says of a folder that it can't be there.
 */
export async function makeFolder(path: string): Promise<void> {
  const missing: string[] = [];
  for (let folder = path; !(await isFolder(folder)); folder = dirname(folder)) missing.push(folder);
  for (const folder of missing.toReversed()) {
    await mkdir(folder, OWNER_ONLY.folder).catch(async (error: unknown) => {
      // Another process may have made it meanwhile.
      if (systemCodeOf(error) === "EEXIST" && (await isFolder(folder))) return;
      throw systemCodeOf(error) === "ENOENT" ? takesNoFolders(dirname(folder)) : error;
    });
    // A new folder is durable once the one around it is.
    await syncFolder(dirname(folder));
  }
}

/** False where nothing is there; rejects where something else is. */
async function isFolder(path: string): Promise<boolean> {
  try {
    if ((await stat(path)).isDirectory()) return true;
    throw noFolder(path);
  } catch (error) {
    switch (systemCodeOf(error)) {
      case "ENOENT":
        if (await isThere(path)) throw leadsNowhere(path);
        return false;
      case "ENOTDIR":
        // What is in the way stands further up.
        return false;
      case "ENAMETOOLONG":
        throw tooLong(path);
      default:
        throw error;
    }
  }
}

export async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, "wx", OWNER_ONLY.file);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** A name in it, or that there is none any more, is durable only then. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } catch (error) {
    // Some network file systems don't know of it.
    if (!["EINVAL", "ENOTSUP"].includes(systemCodeOf(error))) throw error;
  } finally {
    await folder.close();
  }
}

export async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT") return false;
    throw error;
  }
}

const ANOTHER_DIRECTORY = "name another directory in tokens.directory, on a file system that keeps files";

const takesNoFolders = (folder: string): SecretStoreFailure =>
  new SecretStoreFailure("unavailable", `no directory can be made in ${folder}`, ANOTHER_DIRECTORY);

const noFolder = (path: string): SecretStoreFailure =>
  new SecretStoreFailure("unavailable", `${path} is there already, and is no directory`, ANOTHER_DIRECTORY);

export const leadsNowhere = (link: string): SecretStoreFailure =>
  new SecretStoreFailure(
    "unavailable",
    `the symbolic link ${link} leads to no directory`,
    "put it right, or name another directory in tokens.directory",
  );

const tooLong = (path: string): SecretStoreFailure =>
  new SecretStoreFailure(
    "unavailable",
    `a path that begins with ${path.slice(0, 60)} is longer than its file system allows`,
    "shorten tokens.directory or tokens.path",
  );
