import { type RejectionReason, reasonsOf } from "../../core/group/rejections.ts";
import type { RecordedRun } from "../../ports/ledger/scope.ts";
import type { Notifier } from "../../ports/notifier.ts";
import type { RunEvent, RunSummary } from "../../ports/observer.ts";
import type { DaemonState } from "../state/state.ts";
import { driftProblems } from "./drift-problems.ts";
import { messageText } from "./message.ts";
import { missingProblem } from "./missing-problem.ts";
import { type ProblemChange, type ProblemCounts, type Problems, updateProblems } from "./problems.ts";
import { problemsOfRun, workingBy } from "./problems-of-run.ts";

/** What the daemon knows of the ledger. */
type LedgerFacts = Pick<DaemonState, "ledger">;

/**
 * Notifies people when a problem begins, grows or ends, and a monitor of every good sync. Everything is sent in the
 * background.
 */
export class RunNotifications {
  #problems: Problems = {};
  /** The outages that a run without a call can't end: what has been seen to work since it failed last. */
  readonly #working = new Set<"service" | "stores">();
  /** As the config was last read. It counts after each run too, because an end may have to be told later. */
  #config: ProblemCounts = {};
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
    const changes = this.#take({ ...ofRun, ...ofLedger, ...this.#config }, now);
    const reasons = reasonsOf(state?.ledger?.status.rejected ?? []);
    this.#tell(name, changes, { run, reasons }, notifier);
  }

  /** The config was read again. Sends in the background. */
  configRead(name: string, isRejected: boolean, notifier: Notifier, now: Date): void {
    this.#config = { config: isRejected ? 1 : 0 };
    const changes = this.#take(this.#config, now);
    this.#tell(name, changes, { run: null, reasons: [] }, notifier);
  }

  #tell(
    name: string,
    changes: readonly ProblemChange[],
    { run, reasons }: { readonly run: RunSummary | null; readonly reasons: readonly RejectionReason[] },
    notifier: Notifier,
  ): void {
    if (changes.length === 0) return;
    const text = messageText(name, changes, this.#problems, run, reasons);
    this.#told = this.#told.then(() => notifier.tell(text));
  }

  /** Resolves once everything is sent. */
  async ended(): Promise<void> {
    await Promise.all([this.#told, ...this.#beats]);
  }

  #take(counts: ProblemCounts, now: Date) {
    const { problems, changes } = updateProblems(this.#problems, counts, now);
    this.#problems = problems;
    return changes;
  }

  #beat(notifier: Notifier): void {
    const beat = notifier.beat();
    this.#beats.add(beat);
    void beat.finally(() => this.#beats.delete(beat));
  }
}

/** What an earlier process has seen to work is not known any more: a problem that was over must not seem to last. */
const ANYTHING = new Set(["service", "stores"] as const);

const problemsOfLedger = (state: LedgerFacts): ProblemCounts => ({
  ...missingProblem(state),
  ...driftProblems(state),
});
