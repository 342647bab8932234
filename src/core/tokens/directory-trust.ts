import { shellQuoted } from "../text/printable.ts";

/** A file, directory or link on the way to a path. Links are not followed. */
export interface Entry {
  readonly path: string;
  readonly kind: "directory" | "file" | "link" | "other";
  readonly uid: number;
  readonly gid: number;
  /** The permission bits, with the sticky bit. */
  readonly mode: number;
}

/** The entries that the system passes on the way to a directory, in order: each link, and what the link leads to. */
export interface ResolvedPath {
  readonly entries: readonly Entry[];
  /** The directory's path without links. If the directory is missing, `entries` end earlier. */
  readonly end: string;
}

export interface Trust {
  /** The user of this process. Root is trusted too, because root can do everything anyway. */
  readonly uid: number;
  /** Whether the directory's group may write it. */
  readonly isShared: boolean;
}

/** Why another user could change what a path leads to, and what the operator can do. */
export interface Danger {
  readonly what: string;
  readonly remedy: string;
}

const GROUP_WRITES = 0o020;
const OTHERS_WRITE = 0o002;
const STICKY = 0o1000;

export const isTrusted = ({ uid }: Pick<Entry, "uid">, trust: Trust): boolean =>
  uid === 0 || uid === trust.uid;

/** Whether a directory is like /tmp: others may add entries to it, but only an entry's owner may rename or remove it. */
export const isSticky = ({ mode }: Pick<Entry, "mode">): boolean =>
  (mode & STICKY) !== 0 && (mode & (GROUP_WRITES | OTHERS_WRITE)) !== 0;

/**
 * The first reason why a user other than root and the user of this process could change the content of the directory at
 * the end of a path. Undefined if there is none. A user who can write to a directory can replace what is in it. So every
 * directory on the path has to be safe; then the path can't change between this check and its use. Allowed are:
 *
 * | entry                         | its owner    | writable for its group       | writable for all |
 * |-------------------------------|--------------|------------------------------|------------------|
 * | a directory further up        | root or user | if it is sticky              | if it is sticky  |
 * | the directory's parent        | root or user | if it is sticky, or `shared` | if it is sticky  |
 * | the directory                 | root or user | if `shared`                  | never            |
 * | a link in a sticky directory  | root or user | -                            | -                |
 * | a link elsewhere              | anybody      | -                            | -                |
 */
export function dangerOnPath({ entries, end }: ResolvedPath, trust: Trust): Danger | undefined {
  for (const entry of entries) {
    const danger =
      entry.kind === "link" ? dangerOfLink(entry, entries, trust) : dangerOfDirectory(entry, end, trust);
    if (danger) return danger;
  }
  return undefined;
}

/** The same check for a folder or file inside groupsync's directory. groupsync makes no links there. */
export function dangerWithin(entry: Entry, trust: Trust): Danger | undefined {
  const { path, kind } = entry;
  if (kind === "link")
    return {
      what: `${path} is a symbolic link that groupsync didn't make`,
      remedy: `find out who put it there, then remove it: rm ${shellQuoted(path)}`,
    };
  if (!isTrusted(entry, trust)) return foreign(entry, trust, `chown -R ${trust.uid} ${shellQuoted(path)}`);
  return writable(entry, trust.isShared, SHARED);
}

/** In a sticky directory, anybody can make a link and change it at any time. */
function dangerOfLink(link: Entry, entries: readonly Entry[], trust: Trust): Danger | undefined {
  const around = entries.find(({ path }) => path === parentOf(link.path));
  if (around === undefined || !isSticky(around) || isTrusted(link, trust)) return undefined;
  return foreign(link, trust, `rm ${shellQuoted(link.path)}`);
}

function dangerOfDirectory(entry: Entry, end: string, trust: Trust): Danger | undefined {
  const { path, kind } = entry;
  // A file in place of a directory is reported elsewhere.
  if (kind !== "directory") return undefined;
  if (path === end) return dangerWithin(entry, trust);
  if (!isTrusted(entry, trust)) return foreign(entry, trust, `chown ${trust.uid} ${shellQuoted(path)}`);
  if (isSticky(entry)) return undefined;
  // The parent is often the root of a volume, which can't be used itself because of its lost+found.
  return path === parentOf(end) ? writable(entry, trust.isShared, SHARED) : writable(entry, false, ELSEWHERE);
}

const ELSEWHERE = "name another place in tokens.directory";
const SHARED = "set tokens.shared_directory: true if every member of that group may read all tokens";

const foreign = ({ path, uid }: Entry, trust: Trust, command: string): Danger => ({
  what: `${path} belongs to user ${uid}, and groupsync runs as user ${trust.uid}`,
  remedy: `${ELSEWHERE}; or, if that user doesn't need it: ${command}`,
});

/** `ofGroup` is a second remedy, for the case that only the group can write. */
function writable({ path, gid, mode }: Entry, mayGroup: boolean, ofGroup: string): Danger | undefined {
  const group = !mayGroup && (mode & GROUP_WRITES) !== 0;
  const everybody = (mode & OTHERS_WRITE) !== 0;
  if (!group && !everybody) return undefined;
  const chmod = `chmod ${group ? "g" : ""}${everybody ? "o" : ""}-w ${shellQuoted(path)}`;
  return {
    what: `${everybody ? "everybody" : `group ${gid}`} can write to ${path} (mode ${octal(mode)})`,
    remedy: everybody ? chmod : `${chmod}; or ${ofGroup}`,
  };
}

const octal = (mode: number): string => mode.toString(8).padStart(4, "0");

const parentOf = (path: string): string => path.slice(0, path.lastIndexOf("/")) || "/";
