import { shellQuoted } from "./shell-quoted.ts";

/** What a path leads to, before any link is followed. */
export interface Entry {
  readonly path: string;
  readonly kind: "directory" | "file" | "link" | "other";
  readonly uid: number;
  readonly gid: number;
  /** The permission bits, with the sticky bit. */
  readonly mode: number;
}

/** The entries that the system goes through to a directory, in its order: each link, and where the link leads. */
export interface Way {
  readonly entries: readonly Entry[];
  /** The directory's path without links. The directory may be missing: `entries` end earlier then. */
  readonly end: string;
}

export interface Trust {
  /** The user of this process. Root is trusted besides: root can do everything anyway. */
  readonly uid: number;
  /** Whether the directory's group may write it. */
  readonly isShared: boolean;
}

/** Why somebody else could decide what a path leads to, and what the operator can do about it. */
export interface Danger {
  readonly what: string;
  readonly remedy: string;
}

const GROUP_WRITES = 0o020;
const OTHERS_WRITE = 0o002;
const STICKY = 0o1000;

export const isTrusted = ({ uid }: Pick<Entry, "uid">, trust: Trust): boolean =>
  uid === 0 || uid === trust.uid;

/** Whether strangers may add entries, and nobody but an entry's owner may rename or remove it: such as /tmp. */
export const isSticky = ({ mode }: Pick<Entry, "mode">): boolean =>
  (mode & STICKY) !== 0 && (mode & (GROUP_WRITES | OTHERS_WRITE)) !== 0;

/**
 * The first reason for which somebody other than root and this user could decide what lies in the directory at the end
 * of this way. If there is none, the way can't change between a look at it and its use: whoever can write a directory
 * can replace what is in it, so each directory protects the next one.
 *
 * | entry             | its owner    | its group may write          | everybody may write |
 * |-------------------|--------------|------------------------------|---------------------|
 * | above             | root or user | if it is sticky              | if it is sticky     |
 * | right above       | root or user | if it is sticky, or `shared` | if it is sticky     |
 * | the directory     | root or user | if `shared`                  | never               |
 * | a link in sticky  | root or user | -                            | -                   |
 * | a link elsewhere  | anybody      | -                            | -                   |
 */
export function dangerOnWay({ entries, end }: Way, trust: Trust): Danger | undefined {
  for (const entry of entries) {
    const danger =
      entry.kind === "link" ? dangerOfLink(entry, entries, trust) : dangerOnTheWay(entry, end, trust);
    if (danger) return danger;
  }
  return undefined;
}

/** Likewise for a folder or a file that groupsync has made in its directory. It makes no links there. */
export function dangerWithin(entry: Entry, trust: Trust): Danger | undefined {
  const { path, kind } = entry;
  if (kind === "link")
    return {
      what: `${path} is a symbolic link, which groupsync hasn't made`,
      remedy: `see who has put it there, then remove it: rm ${shellQuoted(path)}`,
    };
  if (!isTrusted(entry, trust)) return foreign(entry, trust, `chown -R ${trust.uid} ${shellQuoted(path)}`);
  return writable(entry, trust.isShared, SHARED);
}

/** Anybody can make a link in a sticky directory, and change it at any time. */
function dangerOfLink(link: Entry, entries: readonly Entry[], trust: Trust): Danger | undefined {
  const around = entries.find(({ path }) => path === parentOf(link.path));
  if (around === undefined || !isSticky(around) || isTrusted(link, trust)) return undefined;
  return foreign(link, trust, `rm ${shellQuoted(link.path)}`);
}

function dangerOnTheWay(entry: Entry, end: string, trust: Trust): Danger | undefined {
  const { path, kind } = entry;
  // What else is in a directory's way has a message of its own.
  if (kind !== "directory") return undefined;
  if (path === end) return dangerWithin(entry, trust);
  if (!isTrusted(entry, trust)) return foreign(entry, trust, `chown ${trust.uid} ${shellQuoted(path)}`);
  if (isSticky(entry)) return undefined;
  // The root of a volume often has a lost+found, so that the directory is a folder in it.
  return path === parentOf(end) ? writable(entry, trust.isShared, SHARED) : writable(entry, false, ELSEWHERE);
}

const ELSEWHERE = "name another place in tokens.directory";
const SHARED = "set tokens.shared_directory: true, if each member of that group may have all tokens";

const foreign = ({ path, uid }: Entry, trust: Trust, command: string): Danger => ({
  what: `${path} belongs to user ${uid}, and groupsync runs as user ${trust.uid}`,
  remedy: `${ELSEWHERE}; or, if that user has no business there: ${command}`,
});

/** `ofGroup`: what helps besides where it is only the group. */
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
