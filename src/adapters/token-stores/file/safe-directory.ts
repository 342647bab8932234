import { readlink } from "node:fs/promises";
import { isAbsolute, join, resolve } from "node:path";
import { SyncError } from "../../../core/failure/sync-error.ts";
import {
  type Danger,
  dangerOnPath,
  type Entry,
  type ResolvedPath,
  type Trust,
} from "../../../core/tokens/directory-trust.ts";
import { leadsNowhere } from "./durable-writes.ts";
import { entryAt } from "./trusted-files.ts";

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
export async function safeDirectory(directory: string, trust: Trust): Promise<string> {
  const way = await wayTo(resolve(directory));
  const danger = dangerOnPath(way, trust);
  if (danger) throw unsafe(directory, danger);
  return way.end;
}

export const unsafe = (directory: string, { what, remedy }: Danger): SyncError =>
  new SyncError("CONFIG_DIRECTORY_UNSAFE", `${directory} is no safe place for tokens: ${what}`, {
    hint: remedy,
  });

/** Resolves a path as the system does: from the root, name by name, and through links. */
async function wayTo(path: string): Promise<ResolvedPath> {
  const entries: Entry[] = [];
  const ahead = ["", ...namesIn(path)];
  let at = "/";
  let links = 0;
  for (let name = ahead.shift(); name !== undefined; name = ahead.shift()) {
    const entry = await entryAt(join(at, name));
    if (entry) entries.push(entry);
    if (entry?.kind === "link") {
      if (++links > MOST_LINKS) throw leadsNowhere(path);
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
