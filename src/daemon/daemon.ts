import { isDeepStrictEqual } from "node:util";
import { describe, type FailureWithHint, isHandOver, isNoFault } from "../core/failure/sync-error.ts";
import { fanOut } from "../core/report/fan-out.ts";
import {
  type DaemonState,
  factsOf,
  type LedgerStatus,
  type ServingFacts,
  unansweredRun,
} from "../core/report/scope-facts.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Notifier } from "../ports/notifier.ts";
import type { Observe, RunEvent, RunSummary } from "../ports/observer.ts";
import { NextSync, pauseAfter } from "./next-sync.ts";
import { Notifications } from "./notifications.ts";
import type { ScheduleSettings, Timetable } from "./schedule.ts";
import { beginSession, type OpenedSync, type Serving, type Session } from "./session.ts";
import { StateTracker } from "./state/state-tracker.ts";

export interface DaemonSettings {
  /** The scope. */
  readonly name: string;
  readonly configPath: string;
  readonly docsUrl: string | null;
  readonly schedule: ScheduleSettings & { readonly runAtStart: boolean };
  /** Default: until three scheduled times have passed. */
  readonly staleAfterMs?: number;
  readonly notifier: Notifier;
  /** The ways in which single tenants are noticed, in any form that differs if they do. Left out: no single tenant is served. */
  readonly feeds?: string | undefined;
}

export interface DaemonPorts {
  /** Reads the secrets anew. Rejects with CONFIG_… if a secret can't be read. */
  readonly openSync: () => Promise<OpenedSync>;
  readonly readLedger: () => Promise<LedgerStatus>;
  /** Calls `onDue` on schedule, from `start()` to `stop()`. */
  readonly timetable: (settings: ScheduleSettings, onDue: () => void) => Timetable;
  /** How single tenants are served now; null if they aren't. */
  readonly serving: () => ServingFacts | null;
  readonly clock: Clock;
  /** Each observer gets every event of every run, as the daemon itself does. */
  readonly observers: readonly Observe[];
  readonly log: Log;
}

const SYNCS_UNTIL_STALE = 3;
/** How often an instance in standby asks for the lease, in milliseconds. */
const STANDBY_RETRY = 15_000;
/** The same after it has handed the lease over: a command has it for a short time only. */
const RETRY_AFTER_HAND_OVER = 1_000;

/** Syncs on a schedule until it is told to stop. Nothing that happens in a run ends it. */
export class Daemon {
  readonly #version: string;
  readonly #ports: DaemonPorts;
  readonly #tracker: StateTracker;
  readonly #signal: AbortSignal;
  readonly #notifications = new Notifications();
  /** Takes the events of runs, and those from beside them. */
  readonly observe: Observe;
  #settings: DaemonSettings;
  #timetable: Timetable;
  #work: Promise<void> | undefined;
  #isHolder = false;
  readonly #nextSync: NextSync;
  #noticing: Serving["noticing"];
  /** Scheduled times that came while the present run went on. */
  #skipped = 0;

  /** After the signal aborts, no new call to the service starts, and calls under way finish. */
  constructor(version: string, settings: DaemonSettings, ports: DaemonPorts, signal: AbortSignal) {
    this.#version = version;
    this.#ports = ports;
    this.#settings = settings;
    this.#signal = signal;
    this.#nextSync = new NextSync(ports.clock, signal, () => this.#beginIfIdle());
    this.#timetable = this.#newTimetable();
    this.#tracker = new StateTracker(() => ports.clock.now());
    this.observe = fanOut<RunEvent>(
      [
        (event) => this.#tracker.observe(event),
        ({ kind }) => {
          this.#isHolder ||= kind === "started";
        },
        ...ports.observers,
      ],
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
      await this.#readLedger();
      this.#notifications.recall(this.state, this.#ports.clock.now());
      // Single tenants are served under the lease alone.
      if (this.#settings.schedule.runAtStart || this.#settings.feeds !== undefined) await this.#untilDone();
    });
  }

  get state(): DaemonState {
    const tracked = this.#tracker.state;
    const { name, configPath, docsUrl, schedule, notifier } = this.#settings;
    return {
      ...tracked,
      name,
      configPath,
      docsUrl,
      version: this.#version,
      schedule: schedule.line,
      timezone: schedule.timezone,
      nextRun: this.#signal.aborted ? null : this.#timetable.next,
      staleAt: this.#staleAt(tracked.lastGoodSync ?? tracked.startedAt),
      unreached: notifier.unreached,
      reachedAt: notifier.reachedAt,
      serving: this.#ports.serving(),
    };
  }

  /** Whether this instance has the lease, or goes on with it in a moment. Another instance may have it if not. */
  get isHolder(): boolean {
    return this.#isHolder;
  }

  /**
   * Uses these settings from the next run on. A run that is under way keeps the old ones. If there are other feeds to notice
   * single tenants, the next run begins soon, and so it does after a failure that these settings may repair.
   */
  reconfigure(settings: DaemonSettings): void {
    if (this.#signal.aborted) return;
    const isSameSchedule = isDeepStrictEqual(settings.schedule, this.#settings.schedule);
    if (settings.feeds !== this.#settings.feeds) this.syncSoon();
    this.#settings = settings;
    this.#nextSync.tryAgain();
    // Keep the timetable if the schedule is the same: a new one would lose a scheduled time that waits for its jitter.
    if (!isSameSchedule) {
      this.#timetable.stop();
      this.#timetable = this.#newTimetable();
      this.#timetable.start();
    }
    this.#tracker.configAccepted();
    this.#announceConfig();
  }

  /** The config was read again and is wrong: the settings of before stay. */
  configRejected(failure: FailureWithHint): void {
    this.#tracker.configRejected(failure);
    this.#announceConfig();
  }

  #announceConfig(): void {
    this.#notifications.announce(this.state, null, this.#settings.notifier, this.#ports.clock.now());
  }

  /** Tells people what is wrong after a run, and a monitor if the run was good. */
  #announceRun(run: RunSummary): void {
    // A run that was told to stop has shown nothing.
    if (run.error && isNoFault(run.error)) return;
    const { notifier } = this.#settings;
    if (run.outcome !== "failed" && unansweredRun(factsOf(this.state)) === null)
      this.#notifications.beat(notifier);
    this.#notifications.announce(this.state, run, notifier, this.#ports.clock.now());
  }

  /** Call this after the signal aborts. Resolves once nothing is under way. */
  async ended(): Promise<void> {
    await this.#work;
    this.#isHolder = false;
    await this.#notice(undefined);
    await this.#notifications.ended();
  }

  #newTimetable(): Timetable {
    return this.#ports.timetable(this.#settings.schedule, () => this.#due());
  }

  /** When the daemon is stale if no sync reaches its end after the one that did so at this time. */
  #staleAt(lastEnd: Date): Date {
    const { staleAfterMs } = this.#settings;
    if (staleAfterMs !== undefined) return new Date(lastEnd.getTime() + staleAfterMs);
    return this.#timetable.after(lastEnd, SYNCS_UNTIL_STALE) ?? new Date(8.64e15);
  }

  #due(): void {
    // In standby a scheduled time doesn't count as skipped, because #untilDone keeps asking for the lease.
    if (this.#beginIfIdle() || this.#nextSync.due() || this.state.standby !== null) return;
    this.#tracker.skipped();
    this.#skipped++;
    if (this.#skipped === 1)
      this.#ports.log({
        level: "info",
        message: "skipped a scheduled time: the last sync is still running",
      });
  }

  /** One line for each run tells of the first scheduled time that is skipped, and one of all. */
  #countSkipped(): void {
    if (this.#skipped > 1)
      this.#ports.log({
        level: "info",
        message: `skipped ${this.#skipped} scheduled times while that sync was running`,
      });
    this.#skipped = 0;
  }

  /** Something has changed that only a full sync finds: begins one soon. */
  syncSoon(): void {
    this.#nextSync.want(this.#work === undefined);
  }

  /** Returns false if a sync, or the service of single tenants after it, is under way. */
  #beginIfIdle(): boolean {
    if (this.#work !== undefined) return false;
    this.#work = this.#undisturbed(() => this.#untilDone());
    return true;
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
    let handedOver = false;
    let failures = 0;
    while (!this.#signal.aborted) {
      const session = this.#beginSession();
      const run = await session.run;
      this.#countSkipped();
      await this.#readLedger();
      const isHandedOver = run.error !== null && isHandOver(run.error);
      if (run.error?.code === "LEASE_HELD" || isHandedOver) {
        await session.end;
        this.#isHolder = false;
        await this.#notice(undefined);
        handedOver ||= isHandedOver;
        // A command tells nobody of problems, so those of its run are not known yet.
        if (!handedOver) this.#notifications.recall(this.state, clock.now());
        await clock.sleep(handedOver ? RETRY_AFTER_HAND_OVER : STANDBY_RETRY, this.#signal);
        continue;
      }
      this.#announceRun(run);
      const end = await session.end;
      this.#isHolder = end === "next sync is due";
      if (end === "done") return;
      handedOver = end === "handed over";
      const isAway = end === "database is away";
      failures = isAway || end === "failed" ? failures + 1 : 0;
      if (handedOver) await clock.sleep(RETRY_AFTER_HAND_OVER, this.#signal);
      if (failures > 0) await this.#nextSync.pause(pauseAfter(failures, isAway, clock));
    }
  }

  #beginSession(): Session {
    const { clock, log, openSync } = this.#ports;
    const [due, dueAfter] = [1, 2].map((count) => this.#timetable.after(clock.now(), count));
    this.#tracker.begins();
    const session = beginSession({
      clock,
      log,
      servesTenants: this.#settings.feeds !== undefined,
      observe: this.observe,
      open: openSync,
      notice: (noticing) => this.#notice(noticing),
      // Half of the time between two syncs is for everything else: the next one begins on time.
      wantedMs: due && dueAfter ? (dueAfter.getTime() - due.getTime()) / 2 : undefined,
      next: this.#nextSync.begins(),
      stop: this.#signal,
    });
    void session.run.then(({ durationMs }) => this.#nextSync.runEnded(durationMs));
    // Its end is awaited after the run was announced. Until then an error only must not count as unhandled.
    session.end.catch(() => {});
    return session;
  }

  /** Notices changed tenants by these feeds from now on, and by no other. */
  async #notice(noticing: Serving["noticing"]): Promise<void> {
    if (noticing === this.#noticing) return;
    await this.#noticing?.stop();
    this.#noticing = noticing;
  }

  /** Keeps what was read before if the ledger can't be read. */
  async #readLedger(): Promise<void> {
    // A database that doesn't answer must not delay the end of the process.
    if (this.#signal.aborted) return;
    try {
      this.#tracker.read(await this.#ports.readLedger());
    } catch (error) {
      this.#ports.log({
        level: "debug",
        message: `cannot read the ledger, so the status page and the metrics are out of date: ${describe(error)}`,
      });
    }
  }
}
