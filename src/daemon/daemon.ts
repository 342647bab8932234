import { isDeepStrictEqual } from "node:util";
import { isAlarming } from "../core/deletion/missing-tenants.ts";
import { waitBeforeReconnect } from "../core/failure/backoff.ts";
import { isHandOver } from "../core/failure/failure.ts";
import { describe } from "../core/failure/sync-error.ts";
import type { DeletionLimit } from "../core/plan/deletion-policy.ts";
import { fanOut } from "../core/report/fan-out.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Notifier } from "../ports/notifier.ts";
import type { Observe, RunEvent } from "../ports/observer.ts";
import type { ProblemCounts } from "./notifications/problems.ts";
import { RunNotifications } from "./notifications/run-notifications.ts";
import type { ScheduleSettings, Timetable } from "./schedule.ts";
import { beginSession, type OpenedSync, type Serving, type Session } from "./session.ts";
import type { ServingNow } from "./state/serving-state.ts";
import { type DaemonState, type LedgerSnapshot, wentMissingOf } from "./state/state.ts";
import { type Configured, StateTracker } from "./state/state-tracker.ts";

export interface DaemonSettings {
  /** The scope. */
  readonly name: string;
  readonly schedule: ScheduleSettings & { readonly runAtStart: boolean };
  /** Default: three periods of the schedule. */
  readonly staleAfterMs?: number;
  readonly deletionLimit: DeletionLimit;
  readonly notifier: Notifier;
  /** How often a sync also compares the token stores with the ledger. Never, if left out. */
  readonly verifyTokensMs?: number;
}

export interface DaemonPorts {
  /** Reads the secrets anew. Rejects with CONFIG_… if a secret can't be read. */
  readonly openSync: () => Promise<OpenedSync>;
  readonly readLedgerSnapshot: () => Promise<LedgerSnapshot>;
  /** Calls `onTick` on schedule, from `start()` to `stop()`. */
  readonly timetable: (settings: ScheduleSettings, onTick: () => void) => Timetable;
  /** How single tenants are served now; null if they aren't. */
  readonly serving: () => ServingNow | null;
  readonly clock: Clock;
  /** Each observer gets every event of every run, as the daemon itself does. */
  readonly observers: readonly Observe[];
  readonly log: Log;
}

const PERIODS_UNTIL_STALE = 3;
/** The least time between two full syncs that notices lead to, in milliseconds. */
const LEAST_PAUSE = 1_000;
/** How often an instance in standby asks for the lease, in milliseconds. */
const STANDBY_RETRY = 15_000;
/** The same after it has handed the lease over: a command has it for a short time only. */
const RETRY_AFTER_HAND_OVER = 1_000;

/** Syncs on a schedule until it is told to stop. Nothing that happens in a run ends it. */
export class Daemon {
  readonly #ports: DaemonPorts;
  readonly #tracker: StateTracker;
  readonly #signal: AbortSignal;
  readonly #notifications = new RunNotifications();
  /** Takes the events of runs, and those from beside them. */
  readonly observe: Observe;
  #settings: DaemonSettings;
  #timetable: Timetable;
  #work: Promise<void> | undefined;
  /** Aborts when the next full sync is due: until then single tenants are served. */
  #nextSync = new AbortController();
  /** Whether the full sync of the session is over, so that another one may begin. */
  #isRunOver = false;
  #isSyncWanted = false;
  #noticing: Serving["noticing"];
  /** When the last sync ended, on the monotonic clock, and how long it took, both in milliseconds. */
  #lastRunEnd = 0;
  #lastRunMs = 0;
  /** When the last sync with `verifyTokens` began, on the monotonic clock. */
  #verifiedAt: number | undefined;

  /** After the signal aborts, no new call to the service starts, and calls under way finish. */
  constructor(version: string, settings: DaemonSettings, ports: DaemonPorts, signal: AbortSignal) {
    this.#ports = ports;
    this.#settings = settings;
    this.#signal = signal;
    this.#timetable = this.#newTimetable();
    const now = (): Date => ports.clock.now();
    const nextRun = (): Date | null => (signal.aborted ? null : this.#timetable.next);
    this.#tracker = new StateTracker(
      { version, startedAt: now() },
      this.#configured(),
      { nextRun, serving: ports.serving },
      now,
    );
    this.observe = fanOut<RunEvent>(
      [(event) => this.#tracker.observe(event), ...ports.observers],
      (problem) =>
        ports.log({
          level: "error",
          code: "INTERNAL",
          message: `an observer failed, and the runs go on: ${problem}`,
        }),
    );
  }

  /** Starts to sync. Does nothing if the signal has aborted already. */
  begin(): void {
    if (this.#signal.aborted) return;
    this.#timetable.start();
    this.#signal.addEventListener("abort", () => this.#timetable.stop(), { once: true });
    this.#work = this.#undisturbed(async () => {
      await this.#readLedgerSnapshot();
      this.#recall();
      if (this.#settings.schedule.runAtStart) await this.#untilDone();
    });
  }

  get state(): DaemonState {
    return this.#tracker.state;
  }

  /** Uses these settings from the next run on. A run that is under way keeps the old ones. */
  reconfigure(settings: DaemonSettings): void {
    if (this.#signal.aborted) return;
    const isSameSchedule = isDeepStrictEqual(settings.schedule, this.#settings.schedule);
    this.#settings = settings;
    // Keep the timetable if the schedule is the same: a new one would lose a tick that waits for its jitter.
    if (!isSameSchedule) {
      this.#timetable.stop();
      this.#timetable = this.#newTimetable();
      this.#timetable.start();
    }
    this.#tracker.reconfigured(this.#configured());
  }

  /** Call this after the signal aborts. Resolves once nothing is under way. */
  async ended(): Promise<void> {
    await this.#work;
    await this.#notice(undefined);
    await this.#notifications.ended();
  }

  #newTimetable(): Timetable {
    return this.#ports.timetable(this.#settings.schedule, () => this.#tick());
  }

  #configured(): Configured {
    const { name, schedule, deletionLimit, staleAfterMs } = this.#settings;
    return {
      name,
      schedule: schedule.line,
      timezone: schedule.timezone,
      deletionLimit,
      staleAfterMs: staleAfterMs ?? PERIODS_UNTIL_STALE * this.#timetable.periodMs,
    };
  }

  #tick(): void {
    if (this.#work === undefined) this.#work = this.#undisturbed(() => this.#untilDone());
    else if (this.#isRunOver) this.#nextSync.abort();
    // In standby a tick doesn't count as skipped, because #untilDone keeps asking for the lease.
    else if (this.state.standby === null) {
      this.#tracker.skipped();
      this.#ports.log({
        level: "info",
        message: "skipped a tick of the schedule: the last sync is still running",
      });
    }
  }

  /** Something has changed that only a full sync finds: begins one soon, and not two for the same change. */
  syncSoon(): void {
    if (this.#isSyncWanted || this.#signal.aborted) return;
    this.#isSyncWanted = true;
    const { clock } = this.#ports;
    // Syncs that follow each other without a pause would leave no time to others.
    const earliest = this.#lastRunEnd + Math.max(LEAST_PAUSE, this.#lastRunMs);
    void clock.sleep(earliest - clock.monotonic(), this.#signal).then(() => {
      if (this.#isRunOver && this.#isSyncWanted) this.#nextSync.abort();
    });
  }

  /** Logs what `work` throws, so that a mistake in this program doesn't end the daemon. */
  async #undisturbed(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#ports.log({ level: "error", code: "INTERNAL", message: describe(error) });
    } finally {
      this.#work = undefined;
    }
  }

  /**
   * One sync. While another instance holds the lease, tries again until this instance gets the lease. If the sync hands the
   * lease over to a command, goes on with another sync after that command. If single tenants are served, goes on for ever.
   */
  async #untilDone(): Promise<void> {
    const { clock } = this.#ports;
    let stoodBy = false;
    let handedOver = false;
    let failures = 0;
    while (!this.#signal.aborted) {
      const session = this.#begin();
      const run = await session.run;
      const isRead = await this.#readLedgerSnapshot();
      const isHandedOver = run.error !== null && isHandOver(run.error);
      if (run.error?.code === "LEASE_HELD" || isHandedOver) {
        await session.end;
        await this.#notice(undefined);
        handedOver ||= isHandedOver;
        // A command announces no problems, so those of its run are not known yet.
        stoodBy ||= !handedOver;
        await clock.sleep(handedOver ? RETRY_AFTER_HAND_OVER : STANDBY_RETRY, this.#signal);
        continue;
      }
      if (stoodBy) this.#recall();
      stoodBy = false;
      const { name, notifier } = this.#settings;
      await this.#notifications.announce(name, run, isRead ? this.#missing() : {}, notifier, clock.now());
      const end = await session.end;
      if (end === "done") return;
      handedOver = end === "handed over";
      failures = end === "failed" ? failures + 1 : 0;
      if (handedOver) await clock.sleep(RETRY_AFTER_HAND_OVER, this.#signal);
      if (end === "failed")
        await clock.sleep(
          waitBeforeReconnect(failures, () => clock.random()),
          this.#signal,
        );
    }
  }

  #begin(): Session {
    const { clock, log, openSync } = this.#ports;
    const started = clock.monotonic();
    const verifyTokens = this.#isVerifyingDue();
    this.#isRunOver = false;
    this.#isSyncWanted = false;
    this.#nextSync = new AbortController();
    this.#tracker.begins();
    const { run, end } = beginSession({
      ...{ clock, log, verifyTokens },
      observe: this.observe,
      open: openSync,
      notice: (noticing) => this.#notice(noticing),
      next: this.#nextSync.signal,
      stop: this.#signal,
    });
    void run.then(({ outcome, durationMs }) => {
      this.#isRunOver = true;
      this.#lastRunEnd = clock.monotonic();
      this.#lastRunMs = durationMs;
      if (verifyTokens && outcome !== "failed") this.#verifiedAt = started;
    });
    return { run, end };
  }

  /** Notices changed tenants in these ways from now on, and in no other. */
  async #notice(noticing: Serving["noticing"]): Promise<void> {
    if (noticing === this.#noticing) return;
    await this.#noticing?.stop();
    this.#noticing = noticing;
  }

  /** True for the first sync too: somebody may have changed tokens while no daemon was running. */
  #isVerifyingDue(): boolean {
    const { verifyTokensMs } = this.#settings;
    if (verifyTokensMs === undefined) return false;
    return (
      this.#verifiedAt === undefined || this.#ports.clock.monotonic() - this.#verifiedAt >= verifyTokensMs
    );
  }

  /** Marks the problems of earlier runs, of this or another instance, as known: no message repeats them. */
  #recall(): void {
    const { ledger, lastRun } = this.state;
    const earlier = ledger?.history.filter(({ id }) => id !== lastRun?.run) ?? [];
    this.#notifications.recall(earlier, this.#missing(), this.#ports.clock.now());
  }

  /** Resolves to false if the ledger could not be read. */
  async #readLedgerSnapshot(): Promise<boolean> {
    // A database that doesn't answer must not delay the end of the process.
    if (this.#signal.aborted) return false;
    try {
      this.#tracker.read(await this.#ports.readLedgerSnapshot());
      return true;
    } catch (error) {
      this.#ports.log({
        level: "debug",
        message: `cannot read the ledger, so the status page and the metrics are out of date: ${describe(error)}`,
      });
      return false;
    }
  }

  #missing(): ProblemCounts {
    const missing = wentMissingOf(this.state);
    // Held removals are a problem of their own, and may concern the same tenants.
    if (missing === null || this.state.ledger?.status.held) return {};
    return { missing: isAlarming(missing) ? missing.count : 0 };
  }
}
