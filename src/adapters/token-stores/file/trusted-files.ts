import { constants, type Stats } from "node:fs";
import { lstat, open } from "node:fs/promises";
import { dangerWithin, type Entry, type Trust } from "../../../core/tokens/directory-trust.ts";
import { SecretStoreFailure } from "../secrets/secret-store.ts";
import { systemCodeOf } from "../secrets/vendor-errors.ts";

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
