import { onTestFinished } from "vitest";
import type { ServingFacts } from "../../src/core/report/scope-facts.ts";
import { Daemon, type DaemonPorts, type DaemonSettings } from "../../src/daemon/daemon.ts";
import type { ScheduleSettings } from "../../src/daemon/schedule.ts";
import type { OpenedSync } from "../../src/daemon/session.ts";
import { ledgerStatus } from "../../src/engine/ledger-status.ts";
import type { SyncSettings } from "../../src/engine/sync.ts";
import type { LogEntry } from "../../src/ports/log.ts";
import type { Notifier, Unreached } from "../../src/ports/notifier.ts";
import type { Observe } from "../../src/ports/observer.ts";
import { type Fate, Instance } from "../fakes/instance.ts";
import { VirtualClock } from "../fakes/virtual-time.ts";
import { syncSettings, tenants, World } from "../fakes/world.ts";

export const PERIOD = 300_000;

export const SETTINGS: Omit<DaemonSettings, "notifier"> = {
  name: "eu",
  configPath: "/etc/groupsync/config.yaml",
  docsUrl: null,
  schedule: { line: "*/5 * * * *", timezone: "UTC", jitterMs: 0, runAtStart: true },
};

/** A daemon in a simulated world. The test gives the times. */
export class Stage {
  readonly world: World;
  readonly daemon: Daemon;
  /** Of the service and the stores, as this daemon reaches them. */
  readonly instance: Instance;
  readonly stopping = new AbortController();
  readonly told: string[] = [];
  /** The addresses that the notifier says it didn't reach. */
  readonly unreached: Unreached[] = [];
  readonly notifier: Notifier = {
    tell: async (message) => void this.told.push(message),
    beat: async () => {
      this.beats++;
    },
    unreached: this.unreached,
    reachedAt: {},
  };
  readonly log: LogEntry[] = [];
  readonly schedules: ScheduleSettings[] = [];
  /** How single tenants are said to be served. */
  serving: ServingFacts | null = null;
  beats = 0;
  /** What serves single tenants, as the config in force has it. */
  singleTenants: OpenedSync["serving"];
  opened = 0;
  closed = 0;
  ledgerReads = 0;
  /** What the attempt to open what a sync needs throws. */
  openFails: Error | undefined;
  /** What a read of the ledger for the page throws. */
  readFails: Error | undefined;
  #due = (): void => {};

  constructor(
    world = new World(tenants("a", "b")),
    settings: Partial<DaemonSettings> = {},
    fate: Fate = {},
    observers: readonly Observe[] = [],
    sync: Partial<SyncSettings> = {},
  ) {
    this.world = world;
    this.instance = new Instance(fate);
    const all = { ...SETTINGS, notifier: this.notifier, ...settings };
    this.daemon = new Daemon("1.2.3", all, this.#ports(observers, sync), this.stopping.signal);
    onTestFinished(() => this.stopping.abort());
  }

  async begin(): Promise<void> {
    this.daemon.begin();
    await this.idle();
  }

  due(): void {
    this.#due();
  }

  async scheduledRun(): Promise<void> {
    this.due();
    await this.idle();
  }

  /** Until no run goes on. */
  async idle(): Promise<void> {
    do {
      for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
    } while (this.daemon.state.current !== null);
  }

  #ports(observers: readonly Observe[], sync: Partial<SyncSettings>): DaemonPorts {
    const { world } = this;
    const clock = new VirtualClock(world.time);
    return {
      openSync: async () => {
        if (this.openFails) throw this.openFails;
        this.opened++;
        return {
          ports: world.ports(this.instance, clock),
          settings: syncSettings(sync),
          serving: this.singleTenants,
          close: async () => {
            this.closed++;
          },
        };
      },
      readLedger: async () => {
        this.ledgerReads++;
        if (this.readFails) throw this.readFails;
        const { ledger } = world.ports(new Instance(), clock);
        return ledgerStatus(ledger, syncSettings(sync), clock.now());
      },
      timetable: (schedule, onDue) => {
        this.schedules.push(schedule);
        this.#due = onDue;
        const after = (time: Date, count: number): Date => new Date(time.getTime() + count * PERIOD);
        return { start: () => {}, stop: () => {}, next: new Date(0), after };
      },
      clock,
      serving: () => this.serving,
      observers,
      log: (entry) => this.log.push(entry),
    };
  }
}
