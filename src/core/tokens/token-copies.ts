import { tokenFingerprint } from "../group/group.ts";
import type { Secret } from "../secret/secret.ts";

/** The copies of a token that is missing in one store or more. */
export interface LaggingToken {
  /** The expected token, if any store has it. */
  readonly token: Secret | null;
  /**
   * A store has another token. That token may be newer than the expected one: the ledger is older than the stores if it was
   * restored from a backup.
   */
  readonly isContradicted: boolean;
}

/**
 * The groups whose token one store or more lacks. `expected` has the fingerprints of the tokens that the ledger knows; `copies`
 * has the tokens that each store holds.
 */
export function laggingIn(
  expected: ReadonlyMap<string, string>,
  copies: readonly ReadonlyMap<string, Secret>[],
): ReadonlyMap<string, LaggingToken> {
  const lagging = new Map<string, LaggingToken>();
  for (const [id, fingerprint] of expected) {
    const held = copies.flatMap((copy) => copy.get(id) ?? []);
    const good = held.filter((token) => tokenFingerprint(token) === fingerprint);
    if (good.length < copies.length)
      lagging.set(id, { token: good[0] ?? null, isContradicted: good.length < held.length });
  }
  return lagging;
}
