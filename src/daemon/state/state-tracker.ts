import { type FailureWithHint, isHandOver } from "../../core/failure/sync-error.ts";
import { advanced, NO_WORK } from "../../core/report/progress.ts";
import { type DaemonState, isGoodSync, type LedgerStatus } from "../../core/report/scope-facts.ts";
import type { RunEvent } from "../../ports/observer.ts";

/** In milliseconds. Longer than the time between two reports, with the time that a call may take. */
const QUEUED_FOR = 120_000;

/** What the runs and the config have shown. */
type TrackedState = Pick<
  DaemonState,
  | ("startedAt" | "configReadAt" | "rejectedConfig" | "current" | "queued" | "skippedRuns")
  | ("lastGoodSync" | "lastAnswer" | "standby" | "lastRun" | "ledger")
>;

type CurrentRun = NonNullable<DaemonState["current"]>;

export class StateTracker {
  readonly #now: () => Date;
  #state: TrackedState;
  #queuedAt = new Date(0);

  constructor(now: () => Date) {
    this.#now = now;
    this.#state = {
      ...{ startedAt: now(), configReadAt: now() },
      current: null,
      standby: null,
      lastRun: null,
      lastGoodSync: null,
      lastAnswer: null,
      skippedRuns: 0,
      rejectedConfig: null,
      ledger: null,
      queued: null,
    };
  }

  get state(): TrackedState {
    // Calls that still wait are told of again before this is too old.
    const isQueued = this.#now().getTime() - this.#queuedAt.getTime() < QUEUED_FOR;
    return isQueued ? this.#state : { ...this.#state, queued: null };
  }

  configAccepted(): void {
    this.#set({ rejectedConfig: null, configReadAt: this.#now() });
  }

  configRejected(failure: FailureWithHint): void {
    const since = this.#state.rejectedConfig?.since ?? this.#now();
    this.#set({ rejectedConfig: { since, ...failure } });
  }

  skipped(): void {
    this.#set({ skippedRuns: this.#state.skippedRuns + 1 });
  }

  begins(): void {
    this.#set({ current: { since: this.#now(), run: null, ...NO_WORK, waiting: null } });
  }

  /** Takes the ledger as it is after a run. The ledger also knows the runs of other instances. */
  read(ledger: LedgerStatus): void {
    const now = this.#now();
    const good = ledger.runs.find(
      (run) => isGoodSync(run) && run.finishedAt !== null && run.finishedAt <= now,
    );
    this.#set({ ledger });
    this.#keepLater("lastGoodSync", good?.finishedAt);
    this.#keepLater("lastAnswer", ledger.service.answeredAt);
  }

  observe(event: RunEvent): void {
    const { current } = this.#state;
    switch (event.kind) {
      case "queued":
        this.#queuedAt = this.#now();
        this.#set({ queued: { calls: event.calls, reason: event.reason } });
        break;
      case "answered":
        this.#keepLater("lastAnswer", event.at);
        break;
      case "started":
        if (current) this.#set({ standby: null, current: { ...current, ...NO_WORK, run: event.run } });
        break;
      case "finished":
        if (current) this.#finished(event, current);
        break;
      default:
        if (current) this.#set({ current: goingOn(current, event, this.#now()) });
    }
  }

  #finished(event: Extract<RunEvent, { kind: "finished" }>, { run: id }: CurrentRun): void {
    const { command, durationMs, error } = event;
    this.#set({ current: null });
    if (error && (error.code === "LEASE_HELD" || isHandOver(error))) {
      this.#set({ standby: { message: error.message } });
      return;
    }
    const finishedAt = this.#now();
    // With the duration that the log has.
    const startedAt = new Date(finishedAt.getTime() - durationMs);
    this.#set({ standby: null, lastRun: { id, command, startedAt, finishedAt, result: event } });
    if (event.outcome !== "failed") this.#keepLater("lastGoodSync", finishedAt);
  }

  /**
   * Keeps the later of two times. A time in the future is from before the clock was set back: replace it, or the daemon
   * would count as ready until then.
   */
  #keepLater(what: "lastGoodSync" | "lastAnswer", at: Date | null | undefined): void {
    const before = this.#state[what];
    if (at && (before === null || before < at || before > this.#now())) this.#set({ [what]: at });
  }

  #set(change: Partial<TrackedState>): void {
    this.#state = { ...this.#state, ...change };
  }
}

/** The run after this event. It waits until something is done. */
function goingOn(current: CurrentRun, event: RunEvent, now: Date): CurrentRun {
  if (event.kind === "waiting") {
    const until = new Date(now.getTime() + event.ms);
    return { ...current, waiting: { until, reason: event.reason } };
  }
  const work = advanced(current, event);
  return { ...current, ...work, waiting: work.done > current.done ? null : current.waiting };
}
