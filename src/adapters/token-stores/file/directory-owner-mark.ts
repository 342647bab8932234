import { dirname, join } from "node:path";
import { Secret } from "../../../core/secret/secret.ts";
import { shellQuoted } from "../../../core/text/printable.ts";
import { isScopeName, parseMark } from "../../../core/tokens/destination.ts";
import {
  dangerWithin,
  type Entry,
  isSticky,
  isTrusted,
  type Trust,
} from "../../../core/tokens/directory-trust.ts";
import { type FoundSecret, SecretStoreFailure } from "../secrets/secret-store.ts";
import { systemCodeOf } from "../secrets/vendor-errors.ts";
import { safeDirectory, unsafe } from "./safe-directory.ts";
import { entryAt, readOwnFile } from "./trusted-files.ts";

/** The folder that marks a directory as groupsync's, because files have no tags. New files are written here first. */
export const MARK = ".groupsync";
/**
 * The file of the owner mark in that folder, and the file of an older groupsync, which holds the config's name alone.
 */
export const OWNER = "owner";
export const OWNER_NAME = "name";

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
export const unmark = (directory: string): string =>
  `rm ${[OWNER, OWNER_NAME].map((name) => shellQuoted(join(directory, MARK, name))).join(" ")}`;

/** The config that an older groupsync's mark names; undefined if there is no mark, null if it names no config. */
export async function markedName(directory: string, trust: Trust): Promise<string | null | undefined> {
  const text = await readOwnFile(join(directory, MARK, OWNER_NAME), trust);
  return text === undefined || isScopeName(text) ? text : null;
}

async function ownerIn(directory: string, scope: string, trust: Trust): Promise<FoundSecret | undefined> {
  const folder = await entryAt(join(directory, MARK));
  if (folder?.kind !== "directory") return undefined;
  const content = await readOwnFile(join(folder.path, OWNER), trust);
  const name = content === undefined ? undefined : parseMark(content)?.name;
  if (content !== undefined && name != null)
    return { content: new Secret(content), isManaged: name === scope, scope: name };
  const older = await markedName(directory, trust);
  if (older === undefined) return undefined;
  return older === null ? SOMEBODYS : { content: new Secret(""), isManaged: older === scope, scope: older };
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
