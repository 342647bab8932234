import { realpathSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { SECRET_NAMING, type SecretNaming, type SecretPath } from "../core/tokens/secrets.ts";

import { containerOf, describeDatabase, describeTable } from "./destinations.ts";
import type { SecretTokens, TokenTable } from "./token-stores.ts";

/** Why a token store cannot stand beside `other`, whose key is `name`; undefined if it can. */
export function clash(
  store: TokenTable | SecretTokens,
  other: TokenTable | SecretTokens,
  name: string,
): string | undefined {
  if (store.store === "table" || other.store === "table") {
    if (store.store !== "table" || other.store !== "table" || !shareTokens(store, other)) return undefined;
    return `writes into the table of ${name}; keep one of the two, or name another table`;
  }
  if (store.store === "file" && other.store === "file") {
    const remedy = "keep one of the two, or give each a directory of its own";
    if (isAroundOrIn(store.directory, other.directory)) return `shares a directory with ${name}; ${remedy}`;
    const shared = sharedThroughLink(store.directory, other.directory);
    if (shared === undefined) return undefined;
    return `shares the directory ${shared} with ${name} through a symbolic link; ${remedy}`;
  }
  if (!isSameContainer(store, other) || !mayMeet(store.path, other.path, SECRET_NAMING[store.store]))
    return undefined;
  if (store.path.join() !== other.path.join())
    return `can name a secret of ${name}, for another tenant; begin the two paths with different words`;
  // A Secret of Kubernetes may hold several keys.
  if (store.store === "kubernetes" && other.store === "kubernetes" && store.key !== other.key)
    return undefined;
  return `writes the secrets of ${name}; keep one of the two, or give it another path`;
}

/** With `rows: existing`, two columns of one table may each hold the token. */
const shareTokens = (one: TokenTable, other: TokenTable): boolean =>
  describeDatabase(one.url) === describeDatabase(other.url) &&
  describeTable(one.table) === describeTable(other.table) &&
  (one.rows === "own" || other.rows === "own" || one.token_column === other.token_column);

/** A store owns its directory with everything below: it puts its owner's mark there. */
const isAroundOrIn = (one: string, other: string): boolean => isIn(one, other) || isIn(other, one);

/** If one directory is, through symbolic links, the other or inside of the other: its real path. */
function sharedThroughLink(one: string, other: string): string | undefined {
  const [real, otherReal] = [realPlace(one), realPlace(other)];
  if (isIn(real, otherReal)) return real;
  return isIn(otherReal, real) ? otherReal : undefined;
}

/**
 * The path with its symbolic links resolved. Parts that do not exist, or that this user may not see, stay as they are.
 */
function realPlace(path: string): string {
  const absolute = resolve(path);
  try {
    return realpathSync(absolute);
  } catch {
    const parent = dirname(absolute);
    return parent === absolute ? absolute : join(realPlace(parent), basename(absolute));
  }
}

const isIn = (directory: string, around: string): boolean =>
  !/^\.\.(?:\/|$)/.test(relative(around, directory));

const isSameContainer = (one: SecretTokens, other: SecretTokens): boolean =>
  JSON.stringify(containerOf(one)) === JSON.stringify(containerOf(other));

/**
 * Whether two ids can get the same name: `{{ user_group_id }}` with id `x-1`, and `x-{{ user_group_id }}` with id `1`.
 */
export function mayMeet(
  [before, after]: SecretPath,
  [otherBefore, otherAfter]: SecretPath,
  naming: SecretNaming,
): boolean {
  const [short, long] = byLength(before, otherBefore);
  const [shortEnd, longEnd] = byLength(after, otherAfter);
  if (!long.startsWith(short) || !longEnd.endsWith(shortEnd)) return false;
  // One path has the longer start and the other the longer end: two names may overlap.
  if ((before.length - otherBefore.length) * (after.length - otherAfter.length) < 0) return true;
  // The id of the shorter path has to hold what the longer path has more.
  const more = long.slice(short.length) + longEnd.slice(0, longEnd.length - shortEnd.length);
  return [...more].every((char) => char === naming.escape || naming.plain.test(char));
}

const byLength = (one: string, other: string): readonly [string, string] =>
  one.length <= other.length ? [one, other] : [other, one];
