import { isDeepStrictEqual } from "node:util";
import type { DeletionLimit } from "../core/deletion.ts";
import { asSyncError, describe } from "../core/errors.ts";
import { toEach } from "../core/listeners.ts";
import { noCounts } from "../core/outcome.ts";
import { isAlarming } from "../core/went-missing.ts";
import { type SyncPorts, type SyncSettings, sync } from "../engine/sync.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Notifier } from "../ports/notifier.ts";
import type { Observe, RunEvent, RunSummary } from "../ports/observer.ts";
import { Announcer } from "./announcer.ts";
import { type DaemonState, type LedgerSnapshot, wentMissingOf } from "./state.ts";
import type { ScheduleSettings, Timetable } from "./timetable.ts";
import { type Configured, Tracker } from "./tracker.ts";
import type { Findings } from "./trouble.ts";

export interface DaemonSettings {
  /** The scope. */
  readonly name: string;
  readonly schedule: ScheduleSettings & { readonly runAtStart: boolean };
  /** Left out: three periods of the schedule. */
  readonly staleAfterMs?: number;
  readonly deletionLimit: DeletionLimit;
  readonly notifier: Notifier;
  /** How often it looks into the token stores, whether they have what they should; left out: never. */
  readonly verifyTokensMs?: number;
}

/** What one sync needs; opened for it, and closed after it. */
export interface OpenedSync {
  readonly ports: Omit<SyncPorts, "observe">;
  readonly settings: SyncSettings;
  close(): Promise<void>;
}

export interface DaemonPorts {
  /** With the secrets as they are now. Rejects with CONFIG_… where they can't be had. */
  readonly openSync: () => Promise<OpenedSync>;
  readonly readLedger: () => Promise<LedgerSnapshot>;
  /** Ticks between its start and its stop. */
  readonly timetable: (settings: ScheduleSettings, onTick: () => void) => Timetable;
  readonly clock: Clock;
  /** Those who follow the runs, beside the daemon itself. */
  readonly observers: readonly Observe[];
  readonly log: Log;
}

const PERIODS_UNTIL_STALE = 3;
/** How often an instance in standby asks for the lease: often enough to take over soon, and cheap. */
const STANDBY_RETRY = 15_000;

/** Syncs on a schedule until it is told to stop. Nothing that happens in a run ends it. */
export class Daemon {
  readonly #ports: DaemonPorts;
  readonly #tracker: Tracker;
  readonly #signal: AbortSignal;
  readonly #announcer = new Announcer();
  readonly #observe: Observe;
  #settings: DaemonSettings;
  #timetable: Timetable;
  #work: Promise<void> | undefined;
  /** By the monotonic clock. */
  #verifiedAt: number | undefined;

  /** Once the signal aborts no new call starts, and those under way finish. */
  constructor(version: string, settings: DaemonSettings, ports: DaemonPorts, signal: AbortSignal) {
    this.#ports = ports;
    this.#settings = settings;
    this.#signal = signal;
    this.#timetable = this.#newTimetable();
    const now = (): Date => ports.clock.now();
    const nextRun = (): Date | null => (signal.aborted ? null : this.#timetable.next);
    this.#tracker = new Tracker({ version, startedAt: now() }, this.#configured(), nextRun, now);
    this.#observe = toEach<RunEvent>(
      [(event) => this.#tracker.observe(event), ...ports.observers],
      (problem) =>
        ports.log({
          level: "error",
          code: "INTERNAL",
          message: `the runs go on, but who follows them has failed: ${problem}`,
        }),
    );
  }

  /** From here on it syncs, unless it is told to stop by now. */
  begin(): void {
    if (this.#signal.aborted) return;
    this.#timetable.start();
    this.#signal.addEventListener("abort", () => this.#timetable.stop(), { once: true });
    this.#work = this.#undisturbed(async () => {
      await this.#readLedger();
      this.#recall();
      if (this.#settings.schedule.runAtStart) await this.#untilDone();
    });
  }

  get state(): DaemonState {
    return this.#tracker.state;
  }

  /** Takes other settings from now on; a run that goes on is not disturbed. */
  reconfigure(settings: DaemonSettings): void {
    if (this.#signal.aborted) return;
    const isSameSchedule = isDeepStrictEqual(settings.schedule, this.#settings.schedule);
    this.#settings = settings;
    // Another timetable knows nothing of a tick that this one has put off.
    if (!isSameSchedule) {
      this.#timetable.stop();
      this.#timetable = this.#newTimetable();
      this.#timetable.start();
    }
    this.#tracker.reconfigured(this.#configured());
  }

  /** Resolves once nothing is under way, after the signal has aborted. */
  async ended(): Promise<void> {
    await this.#work;
    await this.#announcer.ended();
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
    // In standby it asks for the lease all the time.
    else if (this.state.standby === null) {
      this.#tracker.skipped();
      this.#ports.log({ level: "info", message: "this tick is left out: the last sync still goes on" });
    }
  }

  /** A mistake in this program costs what it hits, and no more. */
  async #undisturbed(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#ports.log({ level: "error", code: "INTERNAL", message: describe(error) });
    } finally {
      this.#work = undefined;
    }
  }

  /** One sync; in standby again and again, until this instance gets the lease. */
  async #untilDone(): Promise<void> {
    let stoodBy = false;
    while (!this.#signal.aborted) {
      const run = await this.#sync();
      const isRead = await this.#readLedger();
      if (run.error?.code !== "LEASE_HELD") {
        if (stoodBy) this.#recall();
        const { name, notifier } = this.#settings;
        const now = this.#ports.clock.now();
        return this.#announcer.announce(name, run, isRead ? this.#missing() : {}, notifier, now);
      }
      stoodBy = true;
      await this.#ports.clock.sleep(STANDBY_RETRY, this.#signal);
    }
  }

  async #sync(): Promise<RunSummary> {
    const { clock, openSync } = this.#ports;
    const started = clock.monotonic();
    let summary: RunSummary | undefined;
    const observe = (event: RunEvent): void => {
      if (event.kind === "finished") summary = event;
      this.#observe(event);
    };
    this.#tracker.begins();
    try {
      const { ports, settings, close } = await openSync();
      try {
        const verifyTokens = this.#isVerifyingDue();
        await sync({ ...ports, observe }, settings, { verifyTokens }, this.#signal);
        if (verifyTokens && summary?.outcome !== "failed") this.#verifiedAt = started;
      } finally {
        await close();
      }
    } catch (error) {
      summary ??= this.#failedEarly(error, clock.monotonic() - started);
    }
    return summary ?? this.#failedEarly(new Error("the sync has told nothing of its end"), 0);
  }

  /** Also in the first sync: what somebody did while no daemon was there to see it. */
  #isVerifyingDue(): boolean {
    const { verifyTokensMs } = this.#settings;
    if (verifyTokensMs === undefined) return false;
    return (
      this.#verifiedAt === undefined || this.#ports.clock.monotonic() - this.#verifiedAt >= verifyTokensMs
    );
  }

  /** Before it was a run at all, as with a secret that can't be read; or by a mistake in this program. */
  #failedEarly(error: unknown, durationMs: number): RunSummary {
    const { code, message, hint } = asSyncError(error);
    const failure = { code, message, ...(hint !== undefined && { hint }) };
    const summary: RunSummary = {
      command: "sync",
      outcome: "failed",
      counts: noCounts(),
      requests: 0,
      durationMs,
      error: failure,
    };
    this.#observe({ kind: "finished", ...summary });
    return summary;
  }

  /** What was so before this process, or while another instance was at work, is no news. */
  #recall(): void {
    const { ledger, lastRun } = this.state;
    const earlier = ledger?.history.filter(({ id }) => id !== lastRun?.run) ?? [];
    this.#announcer.recall(earlier, this.#missing(), this.#ports.clock.now());
  }

  /** False where it could not be read. */
  async #readLedger(): Promise<boolean> {
    // Nobody looks any more, and a database that doesn't answer would hold up the end.
    if (this.#signal.aborted) return false;
    try {
      this.#tracker.read(await this.#ports.readLedger());
      return true;
    } catch (error) {
      this.#ports.log({ level: "debug", message: `the page and the metrics are old: ${describe(error)}` });
      return false;
    }
  }

  #missing(): Findings {
    const missing = wentMissingOf(this.state);
    // What is held is told of already, and these may be the same tenants.
    if (missing === null || this.state.ledger?.status.held) return {};
    return { missing: isAlarming(missing) ? missing.count : 0 };
  }
}
