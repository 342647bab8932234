import { dirname, join } from "node:path";
import { dangerWithin, type Entry, isSticky, isTrusted, type Trust } from "../../core/directory-trust.ts";
import { isScopeName, parseMark } from "../../core/owners-mark.ts";
import { Secret } from "../../core/secret.ts";
import { shellQuoted } from "../../core/shell-quoted.ts";
import { entryAt, readOwnFile } from "./own-files.ts";
import { safePlace, unsafe } from "./safe-place.ts";
import { type FoundSecret, SecretStoreFailure } from "./secret-store.ts";
import { systemCodeOf } from "./system-error.ts";

/** A folder that marks a directory as groupsync's, for files have no tags. Files are in it until they are whole. */
export const MARK = ".groupsync";
/** In that folder, the file of the owner's mark; and that of an older groupsync, which says the config's name alone. */
export const OWNER = "owner";
export const OWNER_NAME = "name";

interface MarkedFolder {
  /** Where the mark is: the directory itself, or one around it. */
  readonly folder: string;
  readonly owner: FoundSecret;
}

/** Of a mark that isn't to be read: it may be anything, such as a link to somebody's key. */
const SOMEBODYS: FoundSecret = { content: new Secret(""), isManaged: false };

/**
 * The directory's path without links. Rejects with CONFIG_DIRECTORY_UNSAFE if somebody else could decide what is in the
 * directory or in the folder of its mark.
 */
export async function ownPlace(directory: string, trust: Trust): Promise<string> {
  const place = await safePlace(directory, trust);
  const mark = await entryAt(join(place, MARK));
  const danger = mark && dangerWithin(mark, trust);
  if (danger) throw unsafe(directory, danger);
  return place;
}

/**
 * Whose a directory is; undefined where nobody has marked it. A directory around it that is another config's makes it
 * that one's, too: it may name files in here. Rejects as `ownPlace` does.
 */
export async function ownerOfDirectory(
  directory: string,
  scope: string,
  trust: Trust,
): Promise<MarkedFolder | undefined> {
  const place = await ownPlace(directory, trust);
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

/** The shell command that takes a directory's mark away. */
export const unmark = (directory: string): string =>
  `rm ${[OWNER, OWNER_NAME].map((name) => shellQuoted(join(directory, MARK, name))).join(" ")}`;

/** The config that an older groupsync's mark names; undefined where there is none, null where it names none. */
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

/** Anybody can put a mark into a sticky directory such as /tmp, and so keep all others from directories in it. */
async function isPlanted(mark: Entry, folder: string, trust: Trust): Promise<boolean> {
  const around = await entryAt(folder);
  return around !== undefined && isSticky(around) && !isTrusted(mark, trust);
}
