/** What can be wrong. The first five are outages: a run with one of them doesn't reach its end, or shows nothing. */
export const TROUBLES = [
  "program",
  "ledger",
  "stores",
  "source",
  "service",
  "held",
  "missing",
  "failing",
  "rejected",
] as const;
export type TroubleKind = (typeof TROUBLES)[number];

/** How many are concerned by each trouble; 1 for an outage, 0 where all is well. What isn't known is left out. */
export type Findings = Readonly<Partial<Record<TroubleKind, number>>>;

/** A trouble that people were told of. */
export interface Trouble {
  readonly since: Date;
  /** As last found. 0 where it is over, or may be. */
  readonly count: number;
  /** The most that people were told of. */
  readonly told: number;
  /** When it was last found. */
  readonly seenAt: Date;
  /** When people were told that it is over; null until then. */
  readonly endedAt: Date | null;
  /** It began again soon after its end. */
  readonly isBack: boolean;
}

export type Troubles = Readonly<Partial<Record<TroubleKind, Trouble>>>;

/** What people have to be told of one trouble. */
export interface News {
  readonly kind: TroubleKind;
  readonly change: "began" | "grew" | "ended";
  readonly count: number;
  /** How many people were told of before; 0 where it has just begun. */
  readonly before: number;
  readonly since: Date;
}

/** What is back within this time after its end goes up and down: its next end is told once it was away for as long. */
const QUIET_MS = 60 * 60_000;
const MUCH_WORSE = { times: 2, more: 10 };

/**
 * Takes in what a run has found. Each trouble is judged by itself:
 *
 * | trouble                | found                                | told  |
 * |------------------------|--------------------------------------|-------|
 * | none, or over          | none                                 |       |
 * | none, or over          | some                                 | began |
 * | lasts                  | twice as many as told, and ten more  | grew  |
 * | lasts                  | some                                 |       |
 * | lasts                  | none                                 | ended |
 * | lasts, and was back    | none, for less than an hour          |       |
 * |  within an hour        | none, for an hour                    | ended |
 * | any                    | not known                            |       |
 */
export function judge(
  troubles: Troubles,
  findings: Findings,
  now: Date,
): { troubles: Troubles; news: News[] } {
  const after: Partial<Record<TroubleKind, Trouble>> = { ...troubles };
  const news: News[] = [];
  for (const kind of TROUBLES) {
    const count = findings[kind];
    if (count === undefined) continue;
    const before = troubles[kind];
    const trouble = count > 0 ? found(before, count, now) : notFound(before, now);
    if (trouble === undefined) continue;
    after[kind] = trouble;
    const change = changeOf(before, trouble);
    if (change) news.push({ kind, change, count, before: toldOf(before), since: trouble.since });
  }
  return { troubles: after, news };
}

/** Those that last, in the order of their kinds. */
export const lasting = (troubles: Troubles): [kind: TroubleKind, trouble: Trouble][] =>
  TROUBLES.flatMap((kind): [TroubleKind, Trouble][] => {
    const trouble = troubles[kind];
    return trouble && trouble.count > 0 ? [[kind, trouble]] : [];
  });

function found(before: Trouble | undefined, count: number, now: Date): Trouble {
  if (before === undefined || before.endedAt !== null) {
    const isBack = before !== undefined && isWithin(QUIET_MS, before.endedAt, now);
    return { since: now, count, told: count, seenAt: now, endedAt: null, isBack };
  }
  const { told } = before;
  const isMuchWorse = count >= told * MUCH_WORSE.times && count >= told + MUCH_WORSE.more;
  return { ...before, count, seenAt: now, told: isMuchWorse ? count : told };
}

function notFound(before: Trouble | undefined, now: Date): Trouble | undefined {
  if (before === undefined || before.endedAt !== null) return before;
  if (before.isBack && isWithin(QUIET_MS, before.seenAt, now)) return { ...before, count: 0 };
  return { ...before, count: 0, endedAt: now };
}

function changeOf(before: Trouble | undefined, { endedAt, told }: Trouble): News["change"] | null {
  const lasted = before !== undefined && before.endedAt === null;
  if (endedAt !== null) return lasted ? "ended" : null;
  if (!lasted) return "began";
  return told > before.told ? "grew" : null;
}

const toldOf = (trouble: Trouble | undefined): number => (trouble?.endedAt === null ? trouble.told : 0);

const isWithin = (ms: number, from: Date | null, now: Date): boolean =>
  from !== null && now.getTime() - from.getTime() < ms;
