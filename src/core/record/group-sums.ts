import type { Absence, AbsenceKind, Owed } from "../group/ledger-group.ts";

/** Groups that owe the same, and whose tenants are gone in the same way since the same time. */
export interface AlikeGroups {
  readonly groups: number;
  /** See `owes`. */
  readonly owed: readonly Owed[];
  /** Null if their tenants are there. */
  readonly absence: Pick<Absence, "kind" | "since"> | null;
  /** How many of them the service may have updated without an answer that shows it. */
  readonly unverified: number;
  /** The oldest of their times; null if none has any. */
  readonly tokenSince: Date | null;
  readonly intentAt: Date | null;
  readonly failingSince: Date | null;
}

/** Of all groups of a scope, or of a list of them. */
export interface GroupSums {
  readonly counts: GroupCounts;
  /** Those whose tenants are missing, without those whose removal is held. The longest missing come first. */
  readonly missing: readonly MissingGroups[];
  /** Since when the oldest token is live; null if there is none. */
  readonly oldestToken: Date | null;
  /** Since when the oldest change has been failing or under way; null if there is none. */
  readonly oldestUnsynced: Date | null;
}

export interface GroupCounts {
  /** Without canaries. */
  readonly total: number;
  readonly in_sync: number;
  readonly under_way: number;
  readonly failing: number;
  readonly in_doubt: number;
  /** Groups that somebody wants a new token for. */
  readonly wanted: number;
  readonly missing: number;
  readonly unverified: number;
}

/** Groups whose tenants went missing at the same time in the same way, without those whose removal is held already. */
export interface MissingGroups {
  readonly kind: AbsenceKind;
  readonly since: Date;
  readonly groups: number;
}

/** Each group is among one of `all`. */
export function groupSums(all: readonly AlikeGroups[]): GroupSums {
  const owing = (...owed: Owed[]): readonly AlikeGroups[] =>
    all.filter((alike) => owed.some((one) => alike.owed.includes(one)));
  const underWay = owing("under way", "leftover");
  const missing = all.filter(({ absence }) => absence !== null && absence.kind !== "canary");
  return {
    counts: {
      total: countOf(all.filter(({ absence }) => absence?.kind !== "canary")),
      in_sync: countOf(all.filter(({ owed, absence }) => owed.length === 0 && absence === null)),
      under_way: countOf(underWay),
      failing: countOf(all.filter(({ failingSince }) => failingSince !== null)),
      in_doubt: countOf(owing("doubted")),
      wanted: countOf(owing("wanted")),
      missing: countOf(missing),
      unverified: all.reduce((sum, { unverified }) => sum + unverified, 0),
    },
    missing: bySinceAndKind(missing.filter(({ owed }) => !owed.includes("held"))),
    oldestToken: oldestOf(all.map(({ tokenSince }) => tokenSince)),
    oldestUnsynced: oldestOf([
      ...underWay.map(({ intentAt }) => intentAt),
      ...all.map(({ failingSince }) => failingSince),
    ]),
  };
}

const countOf = (some: readonly AlikeGroups[]): number => some.reduce((sum, { groups }) => sum + groups, 0);

function bySinceAndKind(some: readonly AlikeGroups[]): readonly MissingGroups[] {
  const found = new Map<string, MissingGroups>();
  for (const { absence, groups } of some) {
    if (absence === null || absence.kind === "canary") continue;
    const { kind, since } = absence;
    const key = `${since.toISOString()} ${kind}`;
    found.set(key, { kind, since, groups: (found.get(key)?.groups ?? 0) + groups });
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, together]) => together);
}

const oldestOf = (times: readonly (Date | null)[]): Date | null =>
  times.reduce((oldest, time) => (time && !(oldest && oldest < time) ? time : oldest), null);
