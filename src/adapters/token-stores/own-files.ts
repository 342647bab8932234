import { constants, type Stats } from "node:fs";
import { lstat, open } from "node:fs/promises";
import { dangerWithin, type Entry, type Trust } from "../../core/directory-trust.ts";
import { SecretStoreFailure } from "./secret-store.ts";
import { systemCodeOf } from "./system-error.ts";

/** Neither what a link points to nor whoever is at the other end of a pipe. */
const THE_FILE_ITSELF = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** No token and no mark comes near this. */
const MOST_BYTES = 1024 * 1024;

/**
 * The content of a file that groupsync has written; undefined if there is none. What is looked at is the open file, so
 * nobody can exchange it in between. Rejects as "refused" for a link, a pipe, or a file that somebody else owns or may
 * write: nothing of it is read.
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

/** Rejects likewise. */
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
