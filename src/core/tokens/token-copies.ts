import { SyncError } from "../failure/sync-error.ts";
import { tokenFingerprint } from "../group/group.ts";
import type { Secret } from "../secret/secret.ts";

/**
 * How long one attempt may take to store or remove a token outside of the ledger's database, in milliseconds: two requests of 15
 * seconds, or three of 10. The lease lasts for at least as long when the attempt begins.
 */
export const LONGEST_PUT = 30_000;

/** Why tokens were not stored, or not removed, by the id of their group. */
export type Refusals = ReadonlyMap<string, SyncError>;

/**
 * Why the token of a group is not in every store; undefined if it is. `answers` has the refusal of each store, or of several
 * stores together. TOKEN_NOT_EVERYWHERE if one store has the token and another not.
 */
export function refusalIn(answers: readonly (SyncError | undefined)[]): SyncError | undefined {
  const refusals = answers.filter((answer) => answer !== undefined);
  const isSomewhere = refusals.length < answers.length;
  const [first] = refusals;
  if (first === undefined || first.code === NOT_EVERYWHERE) return first;
  return isSomewhere || refusals.some(({ code }) => code === NOT_EVERYWHERE) ? notEverywhere(first) : first;
}

const NOT_EVERYWHERE = "TOKEN_NOT_EVERYWHERE";

const notEverywhere = ({ message, hint }: SyncError): SyncError =>
  new SyncError(NOT_EVERYWHERE, `one store has the token, and another not: ${message}`, {
    ...(hint !== undefined && { hint }),
  });

/** `refusalIn` for several groups, in the order of `ids`. */
export const refusalsIn = (ids: readonly string[], answers: readonly Refusals[]): Refusals =>
  new Map(
    ids.flatMap((id) => {
      const refusal = refusalIn(answers.map((refused) => refused.get(id)));
      return refusal ? [[id, refusal] as const] : [];
    }),
  );

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
