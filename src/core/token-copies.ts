import { tokenFingerprint } from "./group.ts";
import type { Failure } from "./outcome.ts";
import type { Secret } from "./secret.ts";

/**
 * Why a group's token is not in every store. It has a backoff of its own: a change of the group may fail meanwhile, or
 * succeed.
 */
export interface CopiesFailure extends Failure {
  /** In a row. */
  readonly count: number;
  readonly retryAt: Date;
}

/**
 * Which groups lack their token in one store or more: with the token where another store has it, else with null.
 * `expected` has the fingerprints of the live ones, `copies` what each of the stores holds.
 */
export function laggingIn(
  expected: ReadonlyMap<string, string>,
  copies: readonly ReadonlyMap<string, Secret>[],
): ReadonlyMap<string, Secret | null> {
  const lagging = new Map<string, Secret | null>();
  for (const [id, fingerprint] of expected) {
    const good = copies.flatMap((copy) => {
      const token = copy.get(id);
      return token && tokenFingerprint(token) === fingerprint ? [token] : [];
    });
    if (good.length < copies.length) lagging.set(id, good[0] ?? null);
  }
  return lagging;
}
