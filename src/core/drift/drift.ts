import type { Doubt, Intent } from "../group/ledger-group.ts";

/**
 * How a group at the service differs from what the ledger knows, because somebody else changed it there.
 * - `token`: it has another token.
 * - `gone`: it did not exist any more. The GET that showed this has made it again.
 * - `name`: it has another name.
 */
export type Drift = "token" | "gone" | "name";

/** What each kind of drift means, for an operator. */
export const DRIFT_TEXT: Readonly<Record<Drift, string>> = {
  token: "somebody else has given the group another token; that token is stored now",
  gone: "somebody else had deleted the group; it is made again, and its new token is stored",
  name: "somebody else has renamed the group, and this GET didn't change that",
};

/** What the ledger knew of a group before a GET. */
interface Known {
  /** Null if the service never told a token. */
  readonly tokenFingerprint: string | null;
  readonly intent: Intent | null;
  /** `rewind`: the ledger went back in time, and what it knows may be outdated. */
  readonly doubt: Doubt | null;
}

interface Answer {
  readonly isNew: boolean;
  /** An earlier attempt of this run may have reached the service, and its answer was lost. */
  readonly mayHaveBeenSent: boolean;
  readonly tokenFingerprint: string;
  /** The service has the name that was sent. */
  readonly hasName: boolean;
}

/**
 * What the answer to a GET shows that somebody else has changed. `sentAsConfirmed`: the GET sent the group as the service
 * confirmed it last. The first row that fits counts.
 *
 * | known                                      | answer                              | drift             |
 * |--------------------------------------------|-------------------------------------|-------------------|
 * | nothing, or no token                       | any                                 | none              |
 * | groupsync's own rotation or removal is     | any                                 | none: the token   |
 * | under way                                  |                                     | may be groupsync's|
 * | any other                                  | new, or another token after a lost  | gone              |
 * |                                            | answer: that GET may have made it   |                   |
 * | any other                                  | another token, another name, or both| token, name       |
 *
 * After the ledger went back in time, another token may be groupsync's own, and is no drift. Another name counts only if the
 * group was sent as confirmed: otherwise the service has not taken an update.
 */
export function findDrift(known: Known | null, answer: Answer, sentAsConfirmed: boolean): readonly Drift[] {
  if (known === null || known.tokenFingerprint === null) return [];
  if (known.intent !== null && known.intent !== "apply") return [];
  const isOtherToken = answer.tokenFingerprint !== known.tokenFingerprint;
  if (answer.isNew || (isOtherToken && answer.mayHaveBeenSent)) return ["gone"];
  return [
    ...(isOtherToken && known.doubt !== "rewind" ? ["token" as const] : []),
    ...(answer.hasName || !sentAsConfirmed ? [] : ["name" as const]),
  ];
}
