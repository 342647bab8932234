import type { SyncError } from "../../../core/failure/sync-error.ts";
import type { StoredToken } from "../../../ports/token-store.ts";
import type { Queryable } from "../connection/connections.ts";
import type { Dialect } from "../dialect/dialect.ts";
import type { TokenRow, TokenStatements } from "../dialect/token-statements.ts";
import type { TokenRefusals } from "./token-refusals.ts";

/** Why one group's token could not be stored or removed. */
export type Refusal = readonly [user_group_id: string, error: SyncError];

/** Resolves to the tokens that did not get into the table. Rejects if the database refuses one. */
export async function writeTokens(
  statements: TokenStatements,
  refusals: TokenRefusals,
  tokens: readonly StoredToken[],
  connection: Queryable,
  rewrite: boolean,
): Promise<readonly Refusal[]> {
  const wanted = new Map(tokens.map((entry) => [entry.user_group_id, entry.token.reveal()]));
  const rows = await statements.write(connection, tokens, rewrite);
  // A trigger can write another token instead, even the old one.
  const written = new Set(rows.filter(({ id, token }) => token === wanted.get(id)).map(({ id }) => id));
  const unwritten = tokens.filter((entry) => !written.has(entry.user_group_id));
  if (unwritten.length === 0) return [];
  // A trigger, a policy or a rule can skip a write without an error. A token that is there already needs no write, except
  // with `rewrite`.
  const checks = await statements.check(connection, unwritten);
  return checks
    .filter(({ isThere }) => rewrite || !isThere)
    .map(({ id, isThere }) => [id, refusals.notWritten(id, isThere !== null)]);
}

/**
 * The rows of these ids. If the column can't have one of the ids, `find` is called for each half of them, down to single ids,
 * and those that the column can't have are left out.
 */
export async function findRows(
  dialect: Pick<Dialect, "isOfValue">,
  ids: readonly string[],
  find: (ids: readonly string[]) => Promise<readonly TokenRow[]>,
): Promise<readonly TokenRow[]> {
  try {
    return await find(ids);
  } catch (error) {
    if (!dialect.isOfValue(error)) throw error;
  }
  if (ids.length <= 1) return [];
  const half = Math.ceil(ids.length / 2);
  return [
    ...(await findRows(dialect, ids.slice(0, half), find)),
    ...(await findRows(dialect, ids.slice(half), find)),
  ];
}

/** Resolves to the tokens that are still there. Rejects if the database refuses to remove one. */
export async function removeTokens(
  statements: TokenStatements,
  refusals: TokenRefusals,
  ids: readonly string[],
  connection: Queryable,
): Promise<readonly Refusal[]> {
  const removed = new Set(await statements.remove(connection, ids));
  return ids.filter((id) => !removed.has(id)).map((id) => [id, refusals.kept(id)]);
}
