import { constants, type Stats } from "node:fs";
import { lstat, mkdir, open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { dangerWithin, type Entry, type Trust } from "../../core/tokens/directory-trust.ts";
import { SecretStoreFailure } from "./secret-store.ts";
import { systemCodeOf } from "./vendor-client.ts";

/** The permissions of every folder and file that groupsync makes for tokens: nobody but their owner may read them. */
const OWNER_ONLY = { folder: 0o700, file: 0o600 };

/**
 * Makes a folder and the missing folders above it, one at a time. The `recursive` of Node.js 20's mkdir never returns
 * on a file system that takes no folders, such as /proc.
 */
export async function makeFolder(path: string): Promise<void> {
  const missing: string[] = [];
  for (let folder = path; !(await isFolder(folder)); folder = dirname(folder)) missing.push(folder);
  for (const folder of missing.toReversed()) {
    await mkdir(folder, OWNER_ONLY.folder).catch(async (error: unknown) => {
      // Another process may have made it meanwhile.
      if (systemCodeOf(error) === "EEXIST" && (await isFolder(folder))) return;
      throw error;
    });
    // A new folder is durable only after its parent has been synced.
    await syncFolder(dirname(folder));
  }
}

/** False if nothing is there, or something else. */
async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT") return false;
    throw error;
  }
}

/** Creates a file with this text, readable by its owner alone, and syncs it. Rejects if the file exists. */
export async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, "wx", OWNER_ONLY.file);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes new and removed names in a folder durable. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } catch (error) {
    // Some network file systems can't sync a folder.
    if (!["EINVAL", "ENOTSUP"].includes(systemCodeOf(error))) throw error;
  } finally {
    await folder.close();
  }
}

export const isThere = async (path: string): Promise<boolean> => (await entryAt(path)) !== undefined;

/** Opens no link, and waits for no pipe. */
const THE_FILE_ITSELF = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** Far more than any token or mark. */
const MOST_BYTES = 1024 * 1024;

/**
 * The content of a file that groupsync has written; undefined if there is none. Rejects as "refused" before reading if
 * the file is a link or a pipe, or if somebody else owns it or may write to it. The checks are on the open file: nobody
 * can replace it between check and read.
 */
export async function readOwnFile(path: string, trust: Trust): Promise<string | undefined> {
  const file = await open(path, THE_FILE_ITSELF).catch((error: unknown) => {
    if (systemCodeOf(error) === "ENOENT") return undefined;
    throw systemCodeOf(error) === "ELOOP" ? notOurs(path) : error;
  });
  if (file === undefined) return undefined;
  try {
    const found = await file.stat();
    insistOnOwnFile(entryOf(path, found), trust);
    if (found.size > MOST_BYTES) throw notOurs(path, "is larger than any file of groupsync's");
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

/** Throws as {@link readOwnFile} rejects. */
export function insistOnOwnFile(entry: Entry, trust: Trust): void {
  if (entry.kind !== "file") throw notOurs(entry.path);
  const danger = dangerWithin(entry, trust);
  if (danger) throw new SecretStoreFailure("refused", danger.what, danger.remedy);
}

/** Undefined if nothing can be there. */
export async function entryAt(path: string): Promise<Entry | undefined> {
  try {
    return entryOf(path, await lstat(path));
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "ENAMETOOLONG"].includes(systemCodeOf(error))) return undefined;
    throw error;
  }
}

export const entryOf = (path: string, stats: Stats): Entry => ({
  path,
  kind: kindOf(stats),
  uid: stats.uid,
  gid: stats.gid,
  mode: stats.mode & 0o7777,
});

function kindOf(stats: Stats): Entry["kind"] {
  if (stats.isDirectory()) return "directory";
  if (stats.isSymbolicLink()) return "link";
  return stats.isFile() ? "file" : "other";
}

const notOurs = (
  path: string,
  why = "is there already, and it is no file of groupsync's",
): SecretStoreFailure =>
  new SecretStoreFailure("refused", `${path} ${why}`, "see who has put it there, then remove it");
