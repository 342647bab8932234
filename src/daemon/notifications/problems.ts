/** What can be wrong. The outages are first, up to `service`: a run with one ends early, or can't judge the source. */
export const PROBLEM_KINDS = [
  "program",
  "ledger",
  "stores",
  "source",
  "service",
  "config",
  "clocks",
  "held",
  "refresh",
  "missing",
  "drift",
  "failing",
  "rejected",
] as const;
export type ProblemKind = (typeof PROBLEM_KINDS)[number];

/** How many groups or rows have each problem: 1 for an outage, 0 if all is well. Left out if not known. */
export type ProblemCounts = Readonly<Partial<Record<ProblemKind, number>>>;

/** A problem that people were notified of. */
interface Problem {
  readonly since: Date;
  /** As last counted. 0 if the problem is over, or may be over. */
  readonly count: number;
  /** The highest count that people were notified of. */
  readonly told: number;
  /** When the problem was first found to be gone; null while it lasts. */
  readonly goneAt: Date | null;
  /** When people were notified of the end; null until then. */
  readonly endedAt: Date | null;
  /** Whether the problem began again soon after its last end. */
  readonly isBack: boolean;
}

export type Problems = Readonly<Partial<Record<ProblemKind, Problem>>>;

/** A change of one problem that people have to be notified of. */
export interface ProblemChange {
  readonly kind: ProblemKind;
  readonly change: "began" | "grew" | "ended";
  readonly count: number;
  /** The count that people were notified of before; 0 if the problem has just begun. */
  readonly before: number;
  /** How long it took until the problem was first found to be gone, in milliseconds; null while it lasts. */
  readonly lastedMs: number | null;
}

/** If a problem is back within this time after its end, its next end is notified only after it was away for as long. */
const QUIET_MS = 60 * 60_000;
const MUCH_WORSE = { times: 2, more: 10 };

/**
 * Updates each problem by its new count, and says what to notify people of:
 *
 * | problem               | new count                                    | change |
 * |-----------------------|----------------------------------------------|--------|
 * | none, or over         | 0                                            |        |
 * | none, or over         | more                                         | began  |
 * | lasts                 | twice the count notified before, and 10 more | grew   |
 * | lasts                 | any other count but 0                        |        |
 * | lasts                 | 0                                            | ended  |
 * | lasts, and was back   | 0 for less than an hour                      |        |
 * |  within an hour       | 0 for an hour                                | ended  |
 * | any                   | not known                                    |        |
 */
export function updateProblems(
  problems: Problems,
  counts: ProblemCounts,
  now: Date,
): { problems: Problems; changes: ProblemChange[] } {
  const after: Partial<Record<ProblemKind, Problem>> = { ...problems };
  const changes: ProblemChange[] = [];
  for (const kind of PROBLEM_KINDS) {
    const count = counts[kind];
    if (count === undefined) continue;
    const before = problems[kind];
    const problem = count > 0 ? found(before, count, now) : notFound(before, now);
    if (problem === undefined) continue;
    after[kind] = problem;
    const change = changeOf(before, problem);
    const { since, goneAt } = problem;
    const lastedMs = goneAt && Math.max(0, goneAt.getTime() - since.getTime());
    if (change) changes.push({ kind, change, count, before: toldOf(before), lastedMs });
  }
  return { problems: after, changes };
}

/** The problems that last, in the order of their kinds. */
export const lasting = (problems: Problems): [kind: ProblemKind, problem: Problem][] =>
  PROBLEM_KINDS.flatMap((kind): [ProblemKind, Problem][] => {
    const problem = problems[kind];
    return problem && problem.count > 0 ? [[kind, problem]] : [];
  });

function found(before: Problem | undefined, count: number, now: Date): Problem {
  if (before === undefined || before.endedAt !== null) {
    const isBack = before !== undefined && isWithin(QUIET_MS, before.endedAt, now);
    return { since: now, count, told: count, goneAt: null, endedAt: null, isBack };
  }
  const { told } = before;
  const isMuchWorse = count >= told * MUCH_WORSE.times && count >= told + MUCH_WORSE.more;
  return { ...before, count, goneAt: null, told: isMuchWorse ? count : told };
}

function notFound(before: Problem | undefined, now: Date): Problem | undefined {
  if (before === undefined || before.endedAt !== null) return before;
  const goneAt = before.goneAt ?? now;
  const isOver = !before.isBack || !isWithin(QUIET_MS, goneAt, now);
  return { ...before, count: 0, goneAt, endedAt: isOver ? now : null };
}

function changeOf(before: Problem | undefined, { endedAt, told }: Problem): ProblemChange["change"] | null {
  const lasted = before !== undefined && before.endedAt === null;
  if (endedAt !== null) return lasted ? "ended" : null;
  if (!lasted) return "began";
  return told > before.told ? "grew" : null;
}

const toldOf = (problem: Problem | undefined): number => (problem?.endedAt === null ? problem.told : 0);

const isWithin = (ms: number, from: Date | null, now: Date): boolean =>
  from !== null && now.getTime() - from.getTime() < ms;
