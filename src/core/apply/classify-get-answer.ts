import type { Group } from "../group/group.ts";

/** What is known about a group before its GET is answered. */
export interface KnownBeforeGet {
  readonly sent: Group;
  /** The ledger has a row for the group, if only an intent. */
  readonly known: boolean;
  /** The name that the service confirmed last; null if it never confirmed one. */
  readonly confirmedName: string | null;
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
 * | another name than the name sent, unless | not updated; this service doesn't update                  |
 * | the service confirmed the same state    |                                                           |
 * | under that name, as one that shortens   |                                                           |
 * | names does                              |                                                           |
 * | `confirmedAs` is `verified`, or it is   | updated                                                   |
 * | `adopted` and this service updates      |                                                           |
 * | `confirmedAs` is `adopted`              | adopted and unverified                                    |
 * | the name sent; another name was         | updated; this service updates, unless an earlier attempt  |
 * | confirmed, and `mayBeAnother` is false  | may have made the group: then the answer doesn't show it  |
 * | a name was confirmed before, or         | updated if this service updates, not updated if it        |
 * | `mayBeAnother`                          | doesn't; updated and unverified as long as nobody knows   |
 * | never confirmed, but `mayHaveBeenSent`  | created, by an earlier attempt of this run                |
 * | never confirmed                         | created if the ledger knew the group, else adopted;       |
 * |                                         | unverified unless this service updates                    |
 */
export function classifyGetAnswer(expected: KnownBeforeGet, answer: ReturnedGroup): GetResult {
  const { sent, confirmedName, confirmedAs, serviceUpdates } = expected;
  if (answer.isNew) return { kind: "created", unverified: false };

  const isAsConfirmed =
    confirmedAs !== null && confirmedName !== null && sameName(answer.name, confirmedName);
  if (!sameName(answer.name, sent.name) && !isAsConfirmed) {
    return {
      kind: "not_updated",
      reason: `the service still calls it ${JSON.stringify(answer.name)} and not ${JSON.stringify(sent.name)}`,
      isUnknownState: confirmedAs !== null || confirmedName === null || !sameName(answer.name, confirmedName),
      serviceUpdates: false,
    };
  }
  if (confirmedAs === "verified" || (confirmedAs === "adopted" && serviceUpdates === true))
    return { kind: "updated", unverified: false };
  if (confirmedAs === "adopted") return { kind: "adopted", unverified: true };
  if (confirmedName !== null && !sameName(confirmedName, sent.name) && !expected.mayBeAnother) {
    const feedback = expected.mayHaveBeenMade ? {} : { serviceUpdates: true };
    return { kind: "updated", unverified: false, ...feedback };
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

/** Compares names without regard to spaces and Unicode form, because some services trim and normalise names. */
export const sameName = (a: string, b: string): boolean => normalised(a) === normalised(b);
const normalised = (name: string): string => name.normalize("NFC").trim().replace(/\s+/g, " ");
