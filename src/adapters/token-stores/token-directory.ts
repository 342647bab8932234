import { readlink } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { SyncError } from "../../core/failure/sync-error.ts";
import { Secret } from "../../core/secret/secret.ts";
import { shellQuoted } from "../../core/text/printable.ts";
import { parseMark } from "../../core/tokens/destination.ts";
import {
  type Danger,
  dangerOnPath,
  dangerWithin,
  type Entry,
  isSticky,
  isTrusted,
  type ResolvedPath,
  type Trust,
} from "../../core/tokens/directory-trust.ts";
import { entryAt, readOwnFile } from "./safe-files.ts";
import { type FoundSecret, SecretStoreFailure } from "./secret-store.ts";
import { systemCodeOf } from "./vendor-client.ts";

/** The folder that marks a directory as groupsync's, because files have no tags. New files are written here first. */
export const MARK = ".groupsync";
/** The file of the owner mark in that folder. */
export const OWNER = "owner";

interface MarkedFolder {
  /** The folder with the mark: the directory itself, or one above it. */
  readonly folder: string;
  readonly owner: FoundSecret;
}

/** Stands for a mark that must not be read: it may be anything, such as a link to somebody's key. */
const SOMEBODYS: FoundSecret = { content: new Secret(""), isManaged: false };

/**
 * Resolves to the directory's path without links. Rejects with CONFIG_DIRECTORY_UNSAFE if somebody else could change
 * what is in the directory or in the folder of its mark.
 */
export async function ownDirectory(directory: string, trust: Trust): Promise<string> {
  const place = await safeDirectory(directory, trust);
  const mark = await entryAt(join(place, MARK));
  const danger = mark && dangerWithin(mark, trust);
  if (danger) throw unsafe(directory, danger);
  return place;
}

/**
 * The owner of a directory; undefined if nobody has marked it. If another config owns a directory above, it owns this
 * one too: its secrets may have names that lead here. Rejects as `ownDirectory` does.
 */
export async function ownerOfDirectory(
  directory: string,
  scope: string,
  trust: Trust,
): Promise<MarkedFolder | undefined> {
  const place = await ownDirectory(directory, trust);
  const own = await ownerIn(place, scope, trust).catch((error: unknown) => {
    if (!(error instanceof SecretStoreFailure)) throw error;
    throw unsafe(directory, { what: error.message, remedy: error.hint });
  });
  if (own) return { folder: place, owner: own };
  for (let folder = place; folder !== dirname(folder); ) {
    folder = dirname(folder);
    const around = await ownerAround(folder, scope, trust);
    if (around && !around.isManaged) return { folder, owner: around };
  }
  return undefined;
}

/** The shell command that removes a directory's mark. */
export const unmark = (directory: string): string => `rm ${shellQuoted(join(directory, MARK, OWNER))}`;

async function ownerIn(directory: string, scope: string, trust: Trust): Promise<FoundSecret | undefined> {
  const folder = await entryAt(join(directory, MARK));
  if (folder?.kind !== "directory") return undefined;
  const content = await readOwnFile(join(folder.path, OWNER), trust);
  if (content === undefined) return undefined;
  const name = parseMark(content)?.name;
  return name == null ? SOMEBODYS : { content: new Secret(content), isManaged: name === scope, scope: name };
}

async function ownerAround(folder: string, scope: string, trust: Trust): Promise<FoundSecret | undefined> {
  const mark = await entryAt(join(folder, MARK));
  if (!mark || (await isPlanted(mark, folder, trust))) return undefined;
  if (dangerWithin(mark, trust)) return SOMEBODYS;
  return ownerIn(folder, scope, trust).catch((error: unknown) => {
    if (error instanceof SecretStoreFailure || systemCodeOf(error) === "EACCES") return SOMEBODYS;
    throw error;
  });
}

/** Ignores a stranger's mark in a sticky directory such as /tmp: anybody could put one there to block all others. */
async function isPlanted(mark: Entry, folder: string, trust: Trust): Promise<boolean> {
  const around = await entryAt(folder);
  return around !== undefined && isSticky(around) && !isTrusted(mark, trust);
}

/** As many links as Linux follows. */
const MOST_LINKS = 40;

/**
 * Resolves to the directory's path without links, even if its last parts are missing. Rejects with
 * CONFIG_DIRECTORY_UNSAFE if somebody other than root and this user could change what is there.
 *
 * Node.js can't open a file relative to an open directory, so the directory could be replaced between this check and
 * the use of its path. But only root, this user and those whom the operator trusts could do so: that is what the check
 * shows.
 */
async function safeDirectory(directory: string, trust: Trust): Promise<string> {
  const resolved = await resolvedPath(resolve(directory));
  const danger = dangerOnPath(resolved, trust);
  if (danger) throw unsafe(directory, danger);
  return resolved.end;
}

export const unsafe = (directory: string, { what, remedy }: Danger): SyncError =>
  new SyncError("CONFIG_DIRECTORY_UNSAFE", `${directory} is no safe place for tokens: ${what}`, {
    hint: remedy,
  });

/** Resolves a path as the system does: from the root, name by name, and through links. */
async function resolvedPath(path: string): Promise<ResolvedPath> {
  const entries: Entry[] = [];
  const ahead = ["", ...namesIn(path)];
  let at = "/";
  let links = 0;
  for (let name = ahead.shift(); name !== undefined; name = ahead.shift()) {
    const entry = await entryAt(join(at, name));
    if (entry) entries.push(entry);
    if (entry?.kind === "link") {
      if (++links > MOST_LINKS) throw tooManyLinks(path);
      const target = await readlink(entry.path);
      if (isAbsolute(target)) at = "/";
      ahead.unshift(...namesIn(target));
      continue;
    }
    at = join(at, name);
    if (entry?.kind !== "directory") break;
  }
  return { entries, end: join(at, ...ahead) };
}

const namesIn = (path: string): string[] => path.split("/").filter((name) => name !== "" && name !== ".");

const tooManyLinks = (path: string): SecretStoreFailure =>
  new SecretStoreFailure(
    "unavailable",
    `the symbolic links of ${path} lead in a circle`,
    "put them right, or name another directory in tokens.directory",
  );
