import { tokenFingerprint } from "./group.ts";
import type { Secret } from "./secret.ts";

/** Stands in place of a fingerprint in the failure of a group whose token is not in every store: no change has failed. */
export const NOT_EVERYWHERE = "not_everywhere";

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
