import { readlink } from "node:fs/promises";
import { isAbsolute, join, resolve } from "node:path";
import { type Danger, dangerOnWay, type Entry, type Trust, type Way } from "../../core/directory-trust.ts";
import { SyncError } from "../../core/errors.ts";
import { leadsNowhere } from "./durable-files.ts";
import { entryAt } from "./own-files.ts";

/** As many as Linux follows. */
const MOST_LINKS = 40;

/**
 * The directory's path without links, also if the end of it is missing. Rejects with CONFIG_DIRECTORY_UNSAFE if somebody
 * other than root and this user could decide what lies there.
 *
 * Node.js can't open a file relative to an open directory, so the directory could be exchanged between this look and
 * the use of its path; but only by those whom this look has found to be nobody else, or whom the operator trusts.
 */
export async function safePlace(directory: string, trust: Trust): Promise<string> {
  const way = await wayTo(resolve(directory));
  const danger = dangerOnWay(way, trust);
  if (danger) throw unsafe(directory, danger);
  return way.end;
}

export const unsafe = (directory: string, { what, remedy }: Danger): SyncError =>
  new SyncError("CONFIG_DIRECTORY_UNSAFE", `${directory} is no safe place for tokens: ${what}`, {
    hint: remedy,
  });

/** As the system goes it: from the root, name by name, and wherever a link leads. */
async function wayTo(path: string): Promise<Way> {
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
