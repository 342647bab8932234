import { realpathSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { SecretNaming, SecretPath } from "../core/secret-name.ts";
import { SECRET_NAMING } from "../core/secret-naming-by-store.ts";
import type { SecretTokenConfig, TokenConfig, TokenTableConfig } from "./config.ts";
import { describeDatabase, describeTable } from "./database-place.ts";
import { containerOf } from "./token-places.ts";

/** What is wrong with a token store beside `other`, which the text calls by its `name`; undefined where they get along. */
export function clash(store: TokenConfig, other: TokenConfig, name: string): string | undefined {
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
  // A Secret of Kubernetes has room for more than one.
  if (store.store === "kubernetes" && other.store === "kubernetes" && store.key !== other.key)
    return undefined;
  return `writes the secrets of ${name}; keep one of the two, or give it another path`;
}

/** Two columns of somebody else's table may each have the token. */
const shareTokens = (one: TokenTableConfig, other: TokenTableConfig): boolean =>
  describeDatabase(one.url) === describeDatabase(other.url) &&
  describeTable(one.table) === describeTable(other.table) &&
  (one.rows === "own" || other.rows === "own" || one.tokenColumn === other.tokenColumn);

/** A directory is groupsync's as a whole, and marked so. */
const isAroundOrIn = (one: string, other: string): boolean => isIn(one, other) || isIn(other, one);

/** The directory that both names lead to, or the inner one of two; undefined where they lead to two apart. */
function sharedThroughLink(one: string, other: string): string | undefined {
  const [real, otherReal] = [realPlace(one), realPlace(other)];
  if (isIn(real, otherReal)) return real;
  return isIn(otherReal, real) ? otherReal : undefined;
}

/** The path without links, as far as it is there and may be seen. */
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

const isSameContainer = (one: SecretTokenConfig, other: SecretTokenConfig): boolean =>
  JSON.stringify(containerOf(one)) === JSON.stringify(containerOf(other));

/** Whether two ids can have one name between them: `{{ user_group_id }}` and `x-{{ user_group_id }}` for `x-1` and `1`. */
export function mayMeet(
  [before, after]: SecretPath,
  [otherBefore, otherAfter]: SecretPath,
  naming: SecretNaming,
): boolean {
  const [short, long] = byLength(before, otherBefore);
  const [shortEnd, longEnd] = byLength(after, otherAfter);
  if (!long.startsWith(short) || !longEnd.endsWith(shortEnd)) return false;
  // Where each has more than the other at one end, the two may overlap.
  if ((before.length - otherBefore.length) * (after.length - otherAfter.length) < 0) return true;
  // What one has more is a part of the other's id.
  const more = long.slice(short.length) + longEnd.slice(0, longEnd.length - shortEnd.length);
  return [...more].every((char) => char === naming.escape || naming.plain.test(char));
}

const byLength = (one: string, other: string): readonly [string, string] =>
  one.length <= other.length ? [one, other] : [other, one];
