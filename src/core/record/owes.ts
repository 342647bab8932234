import type { RecordedFailure } from "../failure/group-failures.ts";
import { type Owed, UNKNOWN_STATE } from "../group/ledger-group.ts";
import { DELETED } from "../plan/change.ts";
import type { GroupRecord } from "./record.ts";

/**
 * What is not done for a group: the only definition. A sync ends with exit code 0 only if nothing is owed of what was asked for.
 *
 * | owed             | because                                             | if the tenant is gone                  |
 * |------------------|-----------------------------------------------------|----------------------------------------|
 * | under way        | nobody knows what came of a call                    | only a deletion: the group may stay as |
 * |                  |                                                     | it is until its grace period ends      |
 * | leftover         | the group is deleted, and its token is still stored | as otherwise                           |
 * | failing change   | a change failed, and is tried again                 | only a deletion                        |
 * | failing rotation | a rotation failed                                   | only while a new token is wanted       |
 * | failing storing  | a token is perhaps not in every store               | only while a GET is to tell its token  |
 * | held             | a removal waits for approval                        | as otherwise                           |
 * | doubted          | the ledger went back in time, or an operator wants  | never                                  |
 * |                  | a refresh: the service has to be asked again        |                                        |
 * | wanted           | somebody has asked for a new token                  | as otherwise                           |
 */
export function owes(record: GroupRecord): readonly Owed[] {
  return ALL.filter((what) => IS_OWED[what](record));
}

const isGone = ({ absence }: GroupRecord): boolean => absence !== null;

const IS_OWED: Readonly<Record<Owed, (record: GroupRecord) => boolean>> = {
  "under way": (record) => {
    const { intent } = record;
    return isGone(record) ? intent === "delete" : intent !== null && intent !== "remove";
  },
  leftover: ({ intent }) => intent === "remove",
  "failing change": (record) => {
    const { change } = record.failures;
    return change !== null && (!isGone(record) || change.fingerprint === DELETED);
  },
  "failing rotation": (record) =>
    record.failures.rotation !== null && (!isGone(record) || record.wantedSince !== null),
  "failing storing": (record) => {
    const { intent, fingerprint } = record;
    const isAskedFor = (intent === "apply" || intent === "rotate") && fingerprint !== null;
    return record.failures.storing !== null && (!isGone(record) || isAskedFor);
  },
  held: ({ held }) => held !== null,
  doubted: (record) => record.doubt !== null && !isGone(record),
  wanted: ({ wantedSince }) => wantedSince !== null,
};

const ALL = Object.keys(IS_OWED) as readonly Owed[];

const KINDS = ["change", "rotation", "storing"] as const;

/** The failures after which something is tried again. */
export function owedFailures(record: GroupRecord): readonly RecordedFailure[] {
  const failures = KINDS.filter((kind) => record.failures[kind] !== null);
  if (failures.length === 0) return [];
  const owed = owes(record);
  return failures.flatMap((kind) => (owed.includes(`failing ${kind}`) ? (record.failures[kind] ?? []) : []));
}

/** When the first of them began; null if nothing fails. */
export function failingSince(record: GroupRecord): Date | null {
  const times = owedFailures(record).map(({ since }) => since.getTime());
  return times.length > 0 ? new Date(Math.min(...times)) : null;
}

/** What a plan doesn't do. */
const UNPLANNED: readonly Owed[] = ["failing rotation", "held", "doubted", "wanted"];

/**
 * Whether a plan may leave a group unread while its row stays as it is: by `unlessKept`, as long as the service may have taken the
 * last update, which no answer has shown. The ledger keeps these numbers.
 */
export const AT_REST = { no: 0, yes: 1, unlessKept: 2 } as const;

export function restOf(record: GroupRecord): (typeof AT_REST)[keyof typeof AT_REST] {
  const { fingerprint, digest, absence, unverified } = record;
  const isKnown = fingerprint !== null && fingerprint !== UNKNOWN_STATE && digest !== null;
  const isOwing = owes(record).some((owed) => !UNPLANNED.includes(owed));
  if (!isKnown || absence !== null || isOwing) return AT_REST.no;
  return unverified === "updated" ? AT_REST.unlessKept : AT_REST.yes;
}
