import type { Group } from "../group/group.ts";

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
  /** An attempt of this run or of an earlier run may have reached the service, and may have created the group. */
  readonly mayHaveBeenMade: boolean;
  /** Whether GET changes an existing group; null as long as no answer has shown it. */
  readonly serviceUpdates: boolean | null;
  /** A probe has found that out. */
  readonly isProbed: boolean;
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
      readonly serviceUpdates?: boolean;
    }
  | {
      readonly kind: "not_updated";
      readonly reason: string;
      /** The group has another name than the service confirmed last, or the service never confirmed one. */
      readonly isUnknownState: boolean;
      readonly serviceUpdates?: boolean;
    };

/**
 * Says what a GET did, by its answer and by what was known before. The first row that fits counts. "Updates" means that
 * the service changes an existing group when a GET sends another state of the group.
 *
 * | answer and group                        | result                                                    |
 * |-----------------------------------------|-----------------------------------------------------------|
 * | the group is new                        | created                                                   |
 * | a name that is not what the service     | not updated; this service doesn't update, if this is the  |
 * | makes of the name sent, see `named`     | old name, which it had taken as it was sent               |
 * | `confirmedAs` is `verified`, or it is   | updated                                                   |
 * | `adopted` and this service updates      |                                                           |
 * | `confirmedAs` is `adopted`              | adopted and unverified                                    |
 * | the name sent; another name was         | updated; this service updates, unless the sent name is    |
 * | confirmed, and `mayBeAnother` is false  | the accepted one, or an earlier attempt may have made the |
 * |                                         | group. Not updated if a probe says that it doesn't        |
 * | a name was confirmed before, or         | updated if this service updates, not updated if it        |
 * | `mayBeAnother`                          | doesn't; updated and unverified as long as nobody knows   |
 * | never confirmed, but `mayHaveBeenSent`  | created, by an earlier attempt of this run                |
 * | never confirmed                         | created if the ledger knew the group, else adopted;       |
 * |                                         | unverified unless this service updates                    |
 */
export function classifyGetAnswer(expected: KnownBeforeGet, answer: ReturnedGroup): GetResult {
  const { sent, confirmedName, confirmedAs, serviceUpdates } = expected;
  if (answer.isNew) return { kind: "created", unverified: false };

  const name = named(expected, answer.name);
  if (name === "kept" || name === "another") {
    return {
      kind: "not_updated",
      reason: `the service ${isAsBefore(expected, answer.name) ? "still " : ""}calls it ${JSON.stringify(answer.name)} and not ${JSON.stringify(sent.name)}`,
      isUnknownState: confirmedAs !== null || confirmedName === null || !sameName(answer.name, confirmedName),
      ...(name === "kept" && { serviceUpdates: false }),
    };
  }
  if (confirmedAs === "verified" || (confirmedAs === "adopted" && serviceUpdates === true))
    return { kind: "updated", unverified: false };
  if (confirmedAs === "adopted") return { kind: "adopted", unverified: true };
  const isProbedToKeep = serviceUpdates === false && expected.isProbed;
  const isRenamed = name === "as sent" && confirmedName !== null && !sameName(confirmedName, sent.name);
  if (isRenamed && !expected.mayBeAnother && !isProbedToKeep) {
    const isEvidence = !expected.mayHaveBeenMade && !isUnchanged(expected);
    return { kind: "updated", unverified: false, ...(isEvidence && { serviceUpdates: true }) };
  }
  if (confirmedName !== null || expected.mayBeAnother) {
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
 * What the name in an answer shows. Some services rewrite names: they cut or escape them, or make their letters small. The
 * first row that fits counts.
 *
 * | name in the answer                                                                     | it is     |
 * |----------------------------------------------------------------------------------------|-----------|
 * | the name sent                                                                          | as sent   |
 * | what the service made of the accepted name, which is the name sent                     | rewritten |
 * | the same, if that was another name, and may be made of the name sent too               | rewritten |
 * | another one than before, and this service updates; the name sent was not accepted yet  | rewritten |
 * | the one from before, which was not accepted, may be made of the name sent, and this    | rewritten |
 * | service updates                                                                        |           |
 * | the accepted name, and the name sent is quite another one                              | kept      |
 * | any other                                                                              | another   |
 */
function named(expected: KnownBeforeGet, name: string): "as sent" | "rewritten" | "kept" | "another" {
  const { sent, acceptedName, serviceUpdates } = expected;
  if (sameName(name, sent.name)) return "as sent";
  const isFormer = isAsBefore(expected, name);
  const mayBeMadeOfSent = mayBeMadeOf(sent.name, name);
  if (isFormer && isUnchanged(expected)) return "rewritten";
  if (isFormer && acceptedName !== null) {
    const isRewriting = !sameName(name, acceptedName);
    if (mayBeMadeOfSent) return isRewriting ? "rewritten" : "another";
    return isRewriting ? "another" : "kept";
  }
  const isTaken = serviceUpdates === true && !isUnchanged(expected) && (!isFormer || mayBeMadeOfSent);
  return isTaken ? "rewritten" : "another";
}

const isAsBefore = ({ confirmedName }: KnownBeforeGet, name: string): boolean =>
  confirmedName !== null && sameName(name, confirmedName);

/** Whether the service has accepted the name that is sent. */
const isUnchanged = ({ sent, acceptedName, confirmedAs }: KnownBeforeGet): boolean =>
  confirmedAs !== null || (acceptedName !== null && sameName(acceptedName, sent.name));

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
