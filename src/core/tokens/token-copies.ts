import { tokenFingerprint } from "../group/group.ts";
import type { Secret } from "../secret/secret.ts";

/**
 * The groups whose copy of the token is stale or missing in one store or more. The value is the live token if any store
 * has it, else null. `expected` has the fingerprints of the live tokens; `copies` has the tokens that each store holds.
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
