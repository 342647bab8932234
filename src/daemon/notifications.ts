import { type RejectionReason, reasonsOf } from "../core/group/rejections.ts";
import { summaryText } from "../core/report/counts.ts";
import { durationText, quantity } from "../core/text/quantity.ts";
import type { RecordedRun } from "../ports/ledger/scope.ts";
import type { Notifier } from "../ports/notifier.ts";
import type { RunEvent, RunSummary } from "../ports/observer.ts";
import {
  lasting,
  type ProblemCounts,
  type ProblemKind,
  type ProblemNews,
  type Problems,
  problemsOfLedger,
  problemsOfRun,
  updateProblems,
  workingBy,
} from "./problems.ts";
import type { DaemonState } from "./state/state.ts";

/** What the daemon knows of the ledger. */
type LedgerFacts = Pick<DaemonState, "ledger">;

/** How the run ended that has shown the news, and why rows are rejected. */
interface Evidence {
  readonly run: RunSummary | null;
  readonly reasons: readonly RejectionReason[];
}

/**
 * Notifies people when a problem begins and when it ends, and once a day while one lasts; and a monitor of every good sync.
 * Everything is sent in the background.
 */
export class Notifications {
  #problems: Problems = {};
  /** The outages that a run without a call can't end: what has been seen to work since it failed last. */
  readonly #working = new Set<"service" | "stores">();
  readonly #beats = new Set<Promise<void>>();
  /** One message after the other, because the end of a problem must not arrive before its beginning. */
  #told = Promise.resolve();

  /** Takes an event of a run, or from beside one. */
  observe(event: RunEvent): void {
    for (const kind of workingBy(event)) this.#working.add(kind);
  }

  /** Takes the problems that these runs have shown as known. `history` is newest first. */
  recall(history: readonly RecordedRun[], state: LedgerFacts, now: Date): void {
    // The config is no run's problem, and no other instance's.
    const { config } = this.#problems;
    this.#problems = config ? { config } : {};
    for (const { command, result, finishedAt } of history.toReversed())
      if (command === "sync" && result && finishedAt) this.#take(problemsOfRun(result, ANYTHING), finishedAt);
    this.#take(problemsOfLedger(state), now);
  }

  /** Sends in the background. `state` has the ledger as it is after the run; null if it could not be read. */
  announce(name: string, run: RunSummary, state: LedgerFacts | null, notifier: Notifier, now: Date): void {
    if (run.outcome !== "failed") this.#beat(notifier);
    const ofLedger = state && problemsOfLedger(state);
    const ofRun = problemsOfRun(run, this.#working);
    for (const kind of ANYTHING) if (ofRun[kind]) this.#working.delete(kind);
    const reasons = reasonsOf(state?.ledger?.status.rejected ?? []);
    this.#tell(name, this.#take({ ...ofRun, ...ofLedger }, now), { run, reasons }, notifier);
  }

  /** The config was read again. Sends in the background. */
  configRead(name: string, isRejected: boolean, notifier: Notifier, now: Date): void {
    const news = this.#take({ config: isRejected ? 1 : 0 }, now);
    this.#tell(name, news, { run: null, reasons: [] }, notifier);
  }

  /** Resolves once everything is sent. */
  async ended(): Promise<void> {
    await Promise.all([this.#told, ...this.#beats]);
  }

  #tell(name: string, news: ProblemNews | null, evidence: Evidence, notifier: Notifier): void {
    if (news === null) return;
    const text = messageText(name, news, this.#problems, evidence);
    this.#told = this.#told.then(() => notifier.tell(text));
  }

  #take(counts: ProblemCounts, now: Date): ProblemNews | null {
    const { problems, news } = updateProblems(this.#problems, counts, now);
    this.#problems = problems;
    return news;
  }

  #beat(notifier: Notifier): void {
    const beat = notifier.beat();
    this.#beats.add(beat);
    void beat.finally(() => this.#beats.delete(beat));
  }
}

/** What an earlier process has seen to work is not known any more: a problem that was over must not seem to last. */
const ANYTHING = new Set(["service", "stores"] as const);

/**
 * The text of a webhook message: the daemon's name, which problems began or ended, how the run ended if one has shown them, why
 * rows are rejected, what to do, and which problems last. It names no tenant, and failures and reasons by their codes only:
 * their messages and hints may quote a tenant's text. The hint of held removals is groupsync's own.
 */
export function messageText(
  name: string,
  { began, ended }: ProblemNews,
  problems: Problems,
  { run, reasons }: Evidence,
): string {
  const others = lasting(problems).filter(([kind]) => !began.includes(kind));
  const still = others.map(
    ([kind, { count, since }]) => `${PHRASES[kind].lasts(count)}, since ${since.toISOString()}`,
  );
  const stillText = still.length === 0 ? "" : `still: ${still.join("; ")}`;
  const changes = [
    ...began.map((kind) => PHRASES[kind].lasts(problems[kind]?.count ?? 0)),
    ...ended.map(({ kind, lastedMs }) => `${PHRASES[kind].over} (after ${durationText(lastedMs)})`),
  ];
  const isReminder = changes.length === 0;
  const isRecovery = began.length === 0 && others.length === 0;
  const advised = isReminder ? others.map(([kind]) => kind) : began;
  return [
    `groupsync ${name}: ${isRecovery ? "recovered: " : ""}${isReminder ? stillText : changes.join("; ")}`,
    run === null
      ? ""
      : summaryText({ ...run, error: run.error && { ...run.error, message: run.error.code } }),
    ...(advised.includes("rejected") ? reasonLines(reasons) : []),
    ...new Set(advised.map((kind) => (kind === "held" && hintOfHeld(run)) || PHRASES[kind].advice)),
    isReminder ? "" : stillText,
  ]
    .filter((line) => line !== "")
    .join("\n");
}

const hintOfHeld = (run: RunSummary | null): string | undefined =>
  run?.error?.code === "DELETIONS_HELD" ? run.error.hint : undefined;

function reasonLines(reasons: readonly RejectionReason[]): string[] {
  const rows = new Map<string, number>();
  for (const reason of reasons) rows.set(reason.code, (rows.get(reason.code) ?? 0) + reason.rows);
  return Array.from(rows, ([code, count]) => `${quantity(count, "row")}: ${code}`);
}

interface Phrases {
  readonly lasts: (count: number) => string;
  readonly over: string;
  /** What to do. */
  readonly advice: string;
}

const OF_OUTAGE = "the log and the status page say why, and what to do";

const PHRASES: Readonly<Record<ProblemKind, Phrases>> = {
  program: { lasts: () => "groupsync can't sync", over: "groupsync can sync again", advice: OF_OUTAGE },
  ledger: { lasts: () => "the ledger fails", over: "the ledger works again", advice: OF_OUTAGE },
  stores: { lasts: () => "a token store fails", over: "the token store works again", advice: OF_OUTAGE },
  source: { lasts: () => "the source fails", over: "the source works again", advice: OF_OUTAGE },
  service: { lasts: () => "the service fails", over: "the service works again", advice: OF_OUTAGE },
  config: {
    lasts: () => "the new config was rejected, and the old one stays in force",
    over: "a config was accepted",
    advice: "the status page and the log say what is wrong with it; a restart would read it",
  },
  clocks: {
    lasts: () => "the clock of this host and that of the ledger's database differ, so nothing is deleted",
    over: "the clocks agree again",
    advice: "set the clock that is wrong, best by NTP",
  },
  held: {
    lasts: (count) => `${quantity(count, "removal")} ${count === 1 ? "is" : "are"} held`,
    over: "no removal is held any more",
    advice: "groupsync status has the command that approves them",
  },
  refresh: {
    lasts: (count) =>
      `the refresh is held: ${quantity(count, "group")} ${count === 1 ? "was" : "were"} gone at the service`,
    over: "the refresh is held no more",
    advice:
      "find out who has deleted these groups; groupsync status has the command that has more of them made again",
  },
  missing: {
    lasts: (count) =>
      `the tenants of ${quantity(count, "group")} are gone, more than deletion.limit lets go in 24 hours`,
    over: "no more tenants are gone than deletion.limit lets go in 24 hours",
    advice: "look at the source first: are these tenants really gone? groupsync plan names them",
  },
  drift: {
    lasts: (count) =>
      `${quantity(count, "change")} by somebody else ${count === 1 ? "was" : "were"} found at the service within 24 hours`,
    over: "no change by somebody else was found at the service in the last 24 hours",
    advice: "find out who changes groups beside groupsync: the log names each group with its drift",
  },
  failing: {
    lasts: (count) => `${quantity(count, "group")} ${count === 1 ? "fails" : "fail"}`,
    over: "no group fails any more",
    advice: "groupsync status names the groups that fail",
  },
  rejected: {
    lasts: (count) => `${quantity(count, "row")} ${count === 1 ? "is" : "are"} rejected`,
    over: "no row is rejected any more",
    advice: "groupsync status names the rows that are rejected",
  },
};
