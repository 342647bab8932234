import type { Group } from "../group/group.ts";
import { doesUpdate, type Shown, type UpdateEvidence } from "./update-evidence.ts";

/** What is known about a group before its GET is answered. */
export interface KnownBeforeGet {
  readonly sent: Group;
  /** The ledger has a row for the group, if only an intent. */
  readonly known: boolean;
  /** The name that the service gave back last; null if it never gave one. */
  readonly confirmedName: string | null;
  /**
   * The name that was sent when the service took the group and gave back `confirmedName`; null if it never took one, or has
   * given back another name since.
   */
  readonly acceptedName: string | null;
  /** How the service confirmed exactly the state that is sent; null if it confirmed another state of the group, or none. */
  readonly confirmedAs: "verified" | "adopted" | "updated" | null;
  /** An earlier run's call, whose outcome is unknown, may have left the group in another state than the one sent. */
  readonly mayBeAnother: boolean;
  /** An earlier attempt of this run may have reached the service, and its answer was lost. */
  readonly mayHaveBeenSent: boolean;
  /** The answer has the token that the ledger knows: nobody has deleted the group and made it again. */
  readonly hasKnownToken: boolean;
  readonly evidence: UpdateEvidence;
}

/** The group that the service answered with. */
interface ReturnedGroup {
  readonly isNew: boolean;
  readonly name: string;
}

export type GetResult =
  | {
      readonly kind: "created" | "adopted" | "updated";
      /** No answer has shown that the service took the mapping and the properties. */
      readonly unverified: boolean;
      /** Set if this answer shows whether GET changes an existing group. */
      readonly shown?: Shown;
    }
  | {
      readonly kind: "not_updated";
      readonly reason: string;
      /** The group has another name than the service confirmed last, or the service never confirmed one. */
      readonly isUnknownState: boolean;
      readonly shown?: Shown;
    };

/**
 * Says what a GET did, by its answer and by what was known before. The first row that fits counts. "Updates" means that
 * the service changes an existing group when a GET sends another state of the group, see `doesUpdate`.
 *
 * | answer and group                        | result                                                    |
 * |-----------------------------------------|-----------------------------------------------------------|
 * | the group is new                        | created                                                   |
 * | its name is kept, or another, see       | not updated                                               |
 * | `named`                                 |                                                           |
 * | `confirmedAs` is `verified`, and a lost | updated                                                   |
 * | GET can't have made the group otherwise |                                                           |
 * | `confirmedAs` is `adopted`              | updated if this service updates, else adopted and         |
 * |                                         | unverified                                                |
 * | its name is taken, or it is the name    | updated; not updated if a probe says that this service    |
 * | sent, another one was confirmed, and    | doesn't                                                   |
 * | `mayBeAnother` is false                 |                                                           |
 * | a name was confirmed before, or         | updated if this service updates, not updated if it        |
 * | `mayBeAnother`                          | doesn't; updated and unverified as long as nobody knows   |
 * | never confirmed, but `mayHaveBeenSent`  | created, by an earlier attempt of this run                |
 * | never confirmed                         | created if the ledger knew the group, else adopted;       |
 * |                                         | unverified unless this service updates                    |
 */
export function classifyGetAnswer(expected: KnownBeforeGet, answer: ReturnedGroup): GetResult {
  const { sent, confirmedName, confirmedAs, mayBeAnother, evidence } = expected;
  if (answer.isNew) return { kind: "created", unverified: false };

  const serviceUpdates = doesUpdate(evidence);
  const name = named(expected, answer.name);
  if (name === "kept" || name === "another") {
    const isFormer = isAsBefore(expected, answer.name);
    return {
      kind: "not_updated",
      reason: `the service ${isFormer ? "still " : ""}calls it ${JSON.stringify(answer.name)} and not ${JSON.stringify(sent.name)}`,
      isUnknownState: !isFormer,
      ...(name === "kept" && { shown: "kept" }),
    };
  }
  const mayBeMadeOtherwise = mayBeAnother && !expected.hasKnownToken;
  if (confirmedAs === "verified" && !mayBeMadeOtherwise) return { kind: "updated", unverified: false };
  if (confirmedAs === "adopted")
    return serviceUpdates ? { kind: "updated", unverified: false } : { kind: "adopted", unverified: true };
  const isRenamed =
    name === "as sent" && !mayBeAnother && confirmedName !== null && !sameName(confirmedName, sent.name);
  if ((name === "taken" || isRenamed) && evidence.probe !== false)
    return { kind: "updated", unverified: false, ...(name === "taken" && { shown: "took" }) };
  if (confirmedName !== null || mayBeAnother) {
    if (serviceUpdates === false) {
      return {
        kind: "not_updated",
        reason: "this service has shown that a GET doesn't change an existing group",
        isUnknownState: confirmedName === null,
      };
    }
    return { kind: "updated", unverified: serviceUpdates === null };
  }
  if (expected.mayHaveBeenSent) return { kind: "created", unverified: false };
  // Either an earlier run created the group and ended before it recorded that, or somebody else created it.
  return { kind: expected.known ? "created" : "adopted", unverified: serviceUpdates !== true };
}

/**
 * What the name in an answer shows. Some services rewrite names: they cut or escape them, or make their letters small. So a name
 * may be made of another one, see `mayBeMadeOf`. The first row that fits counts.
 *
 * | name in the answer             | what else                                         | it is                       |
 * |--------------------------------|---------------------------------------------------|-----------------------------|
 * | another than before; as sent,  | the name sent was not accepted yet, and the token | taken: this service updates |
 * | or made of the name sent       | is the known one, so that nobody made it anew     |                             |
 * | the name sent                  |                                                   | as sent                     |
 * | as before                      | the name sent was accepted                        | rewritten                   |
 * | as before; made of the name    | it was made of another accepted name too; or none | rewritten                   |
 * | sent                           | was accepted, and this service updates            |                             |
 * | as before                      | another name was accepted, and it can't be made   | kept: this service keeps    |
 * |                                | of the name sent                                  | the group                   |
 * | the first, or another than     | the name sent was not accepted yet; it is made of | rewritten                   |
 * | before                         | the name sent, or this service updates            |                             |
 * | any other                      |                                                   | another                     |
 */
function named(
  expected: KnownBeforeGet,
  name: string,
): "taken" | "as sent" | "rewritten" | "kept" | "another" {
  const { sent, confirmedName, acceptedName, evidence } = expected;
  const isSent = sameName(name, sent.name);
  const isFormer = isAsBefore(expected, name);
  const isMadeOfSent = isSent || mayBeMadeOf(sent.name, name);
  const isNews = !isFormer && !isUnchanged(expected);
  if (isNews && isMadeOfSent && confirmedName !== null && expected.hasKnownToken) return "taken";
  if (isSent) return "as sent";
  if (isFormer && isUnchanged(expected)) return "rewritten";
  const updates = doesUpdate(evidence) === true;
  if (isFormer && isMadeOfSent) {
    const isRewriting = acceptedName === null ? updates : !sameName(name, acceptedName);
    return isRewriting ? "rewritten" : "another";
  }
  if (isFormer) return acceptedName === null ? "another" : "kept";
  return isNews && (isMadeOfSent || updates) ? "rewritten" : "another";
}

const isAsBefore = ({ confirmedName }: KnownBeforeGet, name: string): boolean =>
  confirmedName !== null && sameName(name, confirmedName);

/** Whether the service has accepted the name that is sent. */
const isUnchanged = ({ sent, acceptedName, confirmedAs }: KnownBeforeGet): boolean =>
  confirmedAs !== null || (acceptedName !== null && sameName(acceptedName, sent.name));

/** Whether a service has stored the sent name as another one that may be made of it. */
export const isRewriting = (sentName: string, name: string): boolean =>
  !sameName(sentName, name) && mayBeMadeOf(sentName, name);

/** Whether a service may store the sent name as this one: cut, in other letters, or with other signs. */
function mayBeMadeOf(sentName: string, name: string): boolean {
  const letters = lettersOf(name);
  return letters !== "" && lettersOf(sentName).startsWith(letters);
}

const lettersOf = (name: string): string =>
  name
    .replace(/&#?\w+;/g, "")
    .normalize("NFC")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, "");

/** Compares names without regard to spaces and Unicode form, because some services trim and normalise names. */
export const sameName = (a: string, b: string): boolean => normalised(a) === normalised(b);
const normalised = (name: string): string => name.normalize("NFC").trim().replace(/\s+/g, " ");
