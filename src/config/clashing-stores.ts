import { realpathSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { describeDatabase, describeTable } from "./database-description.ts";
import { containerOf } from "./token-destinations.ts";
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
    const [place, otherPlace] = [realPlace(store.directory), realPlace(other.directory)];
    if (!isIn(place, otherPlace) && !isIn(otherPlace, place)) return undefined;
    return `shares a directory with ${name}, maybe through a symbolic link; keep one of the two, or give each a directory of its own`;
  }
  if (JSON.stringify(containerOf(store)) !== JSON.stringify(containerOf(other))) return undefined;
  // A Secret of Kubernetes may hold several keys.
  const isKeyBeside = store.store === "kubernetes" && other.store === "kubernetes" && store.key !== other.key;
  if (isKeyBeside && store.path.join() === other.path.join()) return undefined;
  const [[before], [otherBefore]] = [store.path, other.path];
  if (!before.startsWith(otherBefore) && !otherBefore.startsWith(before)) return undefined;
  return `may write secrets of ${name}; keep one of the two, or begin their paths with different words`;
}

/** With `rows: existing`, two columns of one table may each hold the token. */
const shareTokens = (one: TokenTable, other: TokenTable): boolean =>
  describeDatabase(one.url) === describeDatabase(other.url) &&
  describeTable(one.table) === describeTable(other.table) &&
  (one.rows === "own" || other.rows === "own" || one.token_column === other.token_column);

/** The path with its symbolic links followed, as far as it exists and this user may see it. */
function realPlace(path: string): string {
  const above = dirname(resolve(path));
  try {
    return realpathSync(path);
  } catch {
    return above === path ? path : join(realPlace(above), basename(path));
  }
}

/** A store owns its directory with everything below: it puts its owner's mark there. */
const isIn = (directory: string, around: string): boolean =>
  !/^\.\.(?:\/|$)/.test(relative(around, directory));
