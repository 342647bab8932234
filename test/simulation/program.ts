import { compositeTokenStore } from "../../src/adapters/token-stores/composite-token-store.ts";
import { SyncError } from "../../src/core/failure/sync-error.ts";
import { RecentWrites } from "../../src/core/record/recent-writes.ts";
import { Silence } from "../../src/engine/refresh/sign-of-life.ts";
import { type RunReport, reportOn } from "../../src/engine/report/run-report.ts";
import { Tally } from "../../src/engine/report/tally.ts";
import type { RotationSelection } from "../../src/engine/rotate.ts";
import { cancelRotations, rotate } from "../../src/engine/rotate.ts";
import { type SyncPorts, type SyncSettings, sync } from "../../src/engine/sync.ts";
import type { RunEvent } from "../../src/ports/observer.ts";
import type { TenantLookups, TenantSnapshot, TenantSource } from "../../src/ports/tenant-source.ts";
import type { TokenStore } from "../../src/ports/token-store.ts";
import { Instance, type Point } from "../fakes/instance.ts";
import type { InMemoryLedger } from "../fakes/ledger/ledger.ts";
import { InMemoryGroupService } from "../fakes/service.ts";
import { openSpool } from "../fakes/spool.ts";
import { InMemoryTenantSource } from "../fakes/tenant-source.ts";
import type { TokenState } from "../fakes/token-store.ts";
import { CALL_MS, settingsOf } from "./config.ts";
import { type Fault, failureOf, type Port, type PortFault, poisoning, portOf } from "./faults.ts";
import type { Command, RunStep, Session, SimulatedConfig } from "./history.ts";
import { ProcessClock } from "./process-clock.ts";
import { askedFor, type LiveTokens, withoutOthers } from "./rotation-checks.ts";
import { SimulatedSession } from "./session.ts";
import type { SimulatedWorld } from "./simulated-world.ts";
import { type RunRecord, WatchedTokenStore, watchedLedger, watchedService } from "./watch.ts";

/** A ledger whose calls take up to this long, in milliseconds, may renew a lease too late: a renewal then takes twice as long. */
const TOO_SLOW_FOR_THE_LEASE = 5_000;

export interface ProgramOptions extends Pick<RunStep, "command" | "faults" | "latencyMs"> {
  readonly config: SimulatedConfig;
  /** The code with which the operator approves held removals. */
  readonly approval?: string | undefined;
  readonly refreshApproval?: string | undefined;
  readonly handsOver?: boolean | undefined;
  readonly session?: Session | undefined;
}

/** One start of groupsync on simulated ports, composed like src/compose/sync.ts, with its faults. */
export class Program {
  readonly record: RunRecord;
  readonly clock: ProcessClock;
  readonly report: Promise<RunReport | "died">;
  /** Undefined while the program runs. */
  end: RunReport | "died" | undefined;
  readonly #world: SimulatedWorld;
  readonly #options: ProgramOptions;
  readonly #instance: Instance;
  readonly #ledger: InMemoryLedger;
  readonly #recent: RecentWrites;
  readonly #session: SimulatedSession | undefined;
  readonly #stop = new AbortController();
  readonly #calls = new Map<string, number>();

  constructor(world: SimulatedWorld, options: ProgramOptions, holder: string, seed: number) {
    const { command, config, faults, latencyMs, handsOver = false } = options;
    const deaths = faults.flatMap((fault) => (fault.kind === "dies" ? [fault.at] : []));
    this.#world = world;
    this.#options = options;
    this.clock = new ProcessClock(world.time, seed);
    this.clock.jump(world.clockOffset);
    this.record = {
      holder,
      config,
      isDisturbed: faults.length > 0 || handsOver || latencyMs >= TOO_SLOW_FOR_THE_LEASE,
      isWhole: command.name === "sync" && command.only === null,
      verifies: command.name === "sync" && command.only === null && command.verifies,
      wantsRefresh: command.name === "sync" && command.refreshes,
      // The command line refuses `never`.
      skipsGrace: command.name === "sync" && !!command.skipsGrace && config.deletion.when !== "never",
      tamperingsBefore: world.tamperings,
      isRefreshing: false,
      isAbout: (id) => command.name === "sync" && (command.only?.includes(id) ?? true),
      wallTime: () => this.clock.now().getTime(),
      toRotate: undefined,
      takesBack: command.name === "rotate --cancel",
      events: [],
      read: undefined,
      lookedUp: new Map(),
      served: new Set(),
      points: 0,
      failedAt: new Map(),
      waiting: new Set(),
    };
    this.#instance = new Instance({
      diesAt: deaths.length > 0 ? Math.min(...deaths) : undefined,
      at: (point, nth) => this.#pass(point, nth),
    });
    void this.#instance.died.then(() => {
      this.#ledger.disconnect();
      this.#session?.end();
    });
    this.#recent = new RecentWrites(this.clock.now());
    this.#ledger = watchedLedger(world, this.record, this.#instance.step, this.#recent);
    const { session } = options;
    if (session)
      this.#session = new SimulatedSession(session, {
        world,
        run: this.record,
        clock: this.clock,
        isAlive: () => this.end === undefined,
      });
    for (const fault of faults) this.#begin(fault);
    this.report = Promise.race([this.#run(command), this.#instance.died]).then((end) => {
      this.end = end;
      if (end !== "died") world.watch.ends(this.record, end);
      return end;
    });
  }

  kill(): void {
    this.#instance.kill();
  }

  /** Waits for the end; after `ms` kills the program. */
  async endsWithin(ms: number): Promise<RunReport | "died"> {
    const ended = new AbortController();
    const patience = this.#world.time.sleep(ms, ended.signal).then(() => this.kill());
    const end = await this.report;
    ended.abort();
    await patience;
    return end;
  }

  #run(command: Command): Promise<RunReport> {
    const ports = this.#ports();
    const settings = this.#settings();
    const { signal } = this.#stop;
    if (command.name === "rotate") return rotate(ports, settings, command.selection, signal);
    const only = command.only === null ? undefined : new Set(command.only);
    if (command.name === "rotate --cancel") return cancelRotations(ports, settings, only, signal);
    const { approval, refreshApproval } = this.#options;
    const beside = this.#session?.beside({ ...ports, source: this.#source("looks") }, settings);
    const mark = command.refreshes ? ({ kind: "refresh_wanted" } as const) : undefined;
    const { skipsGrace } = this.record;
    const options = { only, skipsGrace, approval, refreshApproval, verifyTokens: command.verifies, mark };
    return sync(ports, settings, options, signal, beside).catch((error: unknown) => {
      // The sync has ended well, and the service of single tenants has failed after it.
      if (beside && error instanceof SyncError) return reportOn(new Tally(), 0, error);
      throw error;
    });
  }

  #settings(): SyncSettings {
    const { holder, config } = this.record;
    const isDead = async (other: string): Promise<boolean> => this.#world.isKnownToBeDead(other);
    const { handsOver = false } = this.#options;
    const settings = settingsOf(config, this.#world.destinationsOf(config), holder, isDead, handsOver);
    const silence = new Silence();
    return this.#session ? { ...settings, refresh: { ...settings.refresh, silence } } : settings;
  }

  #ports(): SyncPorts {
    const { step } = this.#instance;
    const { service, watch } = this.#world;
    const simulated = new InMemoryGroupService(service, step, async (request) => {
      if (this.#options.latencyMs > 0) await Promise.race([this.#latency(), this.#instance.died]);
      watch.arrives(request, this.record);
    });
    return {
      source: this.#source("reads"),
      service: watchedService(simulated, watch, this.record),
      tokens: this.#tokens(),
      ledger: this.#ledger,
      clock: this.clock,
      openSpool,
      durabilityRisks: async () => [],
      recent: this.#recent,
      observe: (event) => this.#observe(event),
    };
  }

  /** A source that tells the watch of each read, or of each look at single tenants. */
  #source(tells: "reads" | "looks"): TenantSource {
    const { records, watch } = this.#world;
    const source = new InMemoryTenantSource(records, this.#instance.step);
    return {
      open: (columns, seed): Promise<TenantSnapshot> => {
        watch.reads(this.record);
        return source.open(columns, seed);
      },
      lookups: async (columns, seed): Promise<TenantLookups> => {
        const lookups = await source.lookups(columns, seed);
        return {
          ...lookups,
          rowsOf: (ids) => {
            if (tells === "looks") watch.looks(ids, this.record);
            else watch.readsSome(ids, this.record);
            return lookups.rowsOf(ids);
          },
        };
      },
    };
  }

  #tokens(): TokenStore {
    const { step } = this.#instance;
    const { stores } = this.#world;
    const used = this.#world.storesOf(this.record.config);
    const watched = (state: TokenState): TokenStore =>
      new WatchedTokenStore(
        this.#world,
        state,
        this.record,
        (point) => step({ ...point, store: stores.indexOf(state) }),
        this.#ledger,
      );
    const [first, ...more] = used;
    if (first === undefined) throw new Error("there is no token store");
    if (more.length === 0) return watched(first);
    return compositeTokenStore(used.map(watched));
  }

  #observe(event: RunEvent): void {
    this.record.events.push(event);
    const { command } = this.#options;
    if (event.kind === "started" && command.name === "rotate")
      this.record.toRotate = this.#toRotate(command.selection);
    if (event.kind === "phase" && event.phase === "reading") this.#world.watch.begins(this.record);
    if (event.kind === "phase" && event.phase === "applying") this.#world.watch.applies(this.record);
    if (event.kind === "refreshing") this.record.isRefreshing = true;
    if (event.kind === "planned") this.#world.watch.hasRead(this.record);
    if (event.kind !== "finished") return;
    this.#world.watch.finishes(this.record, event);
    this.#session?.syncEnds();
  }

  /** The tokens that the rotation has to replace if it ends well. */
  #toRotate(selection: RotationSelection): LiveTokens {
    const { faults } = this.#options;
    // The age of a token depends on the clock, which jumps in this run.
    if (selection.kind === "older than" && faults.some(({ kind }) => kind === "clock jumps"))
      return new Map();
    const asked = askedFor(selection, this.#world, this.clock.now());
    return faults.length > 0 ? withoutOthers(asked, this.#world) : asked;
  }

  #begin(fault: Fault): void {
    if (fault.kind !== "refuses" && fault.kind !== "keeps") return;
    const obstacle = this.#world.obstruct(fault.kind, fault.store, fault.id);
    void this.#world.time.sleep(fault.ms).then(obstacle.end);
  }

  #pass(point: Point, nth: number): void | Promise<void> {
    for (const fault of this.#options.faults) if ("at" in fault && fault.at === nth) this.#strike(fault);
    if (!isBeat(point)) this.record.points++;
    this.#session?.pass(nth);
    const failure = this.#failureAt(point);
    // A request that is on its way to another server's token store arrives, even if the process dies.
    const hasLeft = isChangeOfTokens(point) && this.#world.stores[point.store ?? 0]?.sharesLedger === false;
    const takesTime = failure?.code === "TIMEOUT" || this.#options.latencyMs > 0 || this.clock.isPaused;
    if (!takesTime || hasLeft) {
      if (failure) throw failureOf(failure.port, failure.code);
      return;
    }
    return this.#passLate(failure);
  }

  async #passLate(failure: Pick<PortFault, "port" | "code"> | undefined): Promise<void> {
    if (this.#options.latencyMs > 0) await this.#latency();
    if (failure?.code === "TIMEOUT") await this.#world.time.sleep(CALL_MS);
    await this.clock.untilItGoesOn();
    if (failure) throw failureOf(failure.port, failure.code);
  }

  #strike(fault: Fault): void {
    switch (fault.kind) {
      case "is told to stop":
        this.#stop.abort();
        return;
      case "pauses":
        // If the wall clock is set back as well, nothing on this machine shows that it slept. So it doesn't sleep then.
        this.clock.pause(fault.ms, fault.isAsleep && !this.#isSetBack());
        return;
      case "clock jumps":
        this.clock.jump(fault.ms);
    }
  }

  #isSetBack(): boolean {
    return this.#options.faults.some((fault) => fault.kind === "clock jumps" && fault.ms < 0);
  }

  #failureAt(point: Point): Pick<PortFault, "port" | "code"> | undefined {
    const port = portOf(point);
    const nth = this.#count(port, point);
    const { poison } = this.#world;
    if (port === "service" && poison && point.id === poison.id) {
      const failure = poisoning(poison.kind).fails;
      const isMeant = !failure?.isOfChanges || (point.group && !this.#world.isConfirmed(point.group));
      if (failure?.when === point.when && isMeant) return { port, code: failure.code };
    }
    return this.#options.faults.find(
      (fault): fault is PortFault =>
        fault.kind === "fails" &&
        fault.port === port &&
        fault.when === point.when &&
        (port !== "store" || this.#world.isStore(point.store, fault.store)) &&
        fault.from <= nth &&
        nth < fault.from + fault.times,
    );
  }

  #count(port: Port, { when, store }: Point): number {
    const key = `${when} ${port} ${store ?? ""}`;
    const count = (this.#calls.get(key) ?? 0) + 1;
    this.#calls.set(key, count);
    return count;
  }

  #latency(): Promise<void> {
    return this.#world.time.sleep(this.clock.random() * this.#options.latencyMs);
  }
}

/** What goes on beside the work, however long the work takes. */
const isBeat = ({ call }: Point): boolean => call === "requests" || call === "renewLease";

const isChangeOfTokens = ({ when, call }: Point): boolean =>
  when === "before" && (call === "writeTokens" || call === "removeTokens");
