import type { Group } from "./group.ts";

/** What is known about a group before the service's answer is judged. */
export interface Expectation {
  readonly sent: Group;
  /** The ledger had a row for it, be it only an intent. */
  readonly known: boolean;
  /** The name that the service last confirmed; null where it never did. */
  readonly confirmedName: string | null;
  /** How well the service confirmed just this group before; null where it confirmed another one, or none. */
  readonly confirmedAs: "verified" | "adopted" | "updated" | null;
  /** A call whose outcome isn't known may have made it, as another group than this one. */
  readonly mayBeAnother: boolean;
  /** A call of this run with this group may have reached the service, its answer lost. */
  readonly mayHaveBeenSent: boolean;
  /** So may one of an earlier run: where the group was gone meanwhile, either has made it anew. */
  readonly mayHaveBeenMade: boolean;
  /** Whether GET is known to change an existing group; null until it has been seen. */
  readonly serviceUpdates: boolean | null;
}

export interface Answer {
  readonly isNew: boolean;
  readonly name: string;
}

export type Verdict =
  | {
      readonly kind: "created" | "adopted" | "updated";
      /** Nothing has shown that the service took the mapping and the properties. */
      readonly unverified: boolean;
      /** Set where this answer shows whether GET changes an existing group. */
      readonly serviceUpdates?: boolean;
    }
  | { readonly kind: "not_updated"; readonly reason: string; readonly serviceUpdates?: boolean };

/**
 * Judges what a GET did.
 *
 * | answer                            | verdict                                              |
 * |-----------------------------------|------------------------------------------------------|
 * | new                               | created                                              |
 * | existing, other name              | not updated: the service keeps existing groups       |
 * | existing, new name after a rename | updated: the service updates existing groups         |
 * | the same, perhaps made anew       | updated, which shows nothing of the service          |
 * | existing, confirmed as it is sent | what it was: GET either keeps it or sends the same   |
 * | existing, same name as before     | as far as is known of the service; unverified if not |
 * | existing, perhaps made otherwise  | the same: an earlier run may have made it like that  |
 * | existing, never confirmed         | created or adopted; unverified unless it updates     |
 */
export function judge(expected: Expectation, answer: Answer): Verdict {
  const { sent, confirmedName, confirmedAs, serviceUpdates } = expected;
  if (answer.isNew) return { kind: "created", unverified: false };

  if (!sameName(answer.name, sent.name)) {
    return {
      kind: "not_updated",
      reason: `the service still calls it ${JSON.stringify(answer.name)} and not ${JSON.stringify(sent.name)}`,
      serviceUpdates: false,
    };
  }
  if (confirmedAs === "verified") return { kind: "updated", unverified: false };
  if (confirmedAs === "adopted") return { kind: "adopted", unverified: serviceUpdates !== true };
  if (confirmedName !== null && !sameName(confirmedName, sent.name) && !expected.mayBeAnother) {
    const lesson = expected.mayHaveBeenMade ? {} : { serviceUpdates: true };
    return { kind: "updated", unverified: false, ...lesson };
  }
  if (confirmedName !== null || expected.mayBeAnother) {
    if (serviceUpdates === false) {
      return {
        kind: "not_updated",
        reason: "this service has shown that a GET doesn't change an existing group",
      };
    }
    return { kind: "updated", unverified: serviceUpdates === null };
  }
  if (expected.mayHaveBeenSent) return { kind: "created", unverified: false };
  // Never confirmed, and there already: made by an earlier run that meant to, or by somebody else before.
  return { kind: expected.known ? "created" : "adopted", unverified: serviceUpdates !== true };
}

/** Services trim and normalise names; that alone is no old name. */
const sameName = (a: string, b: string): boolean => normalised(a) === normalised(b);
const normalised = (name: string): string => name.normalize("NFC").trim().replace(/\s+/g, " ");
