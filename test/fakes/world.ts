import { RecentCommits } from "../../src/engine/durability/recent-commits.ts";
import { deleteAndForget, type Forgotten, forgetScope } from "../../src/engine/forget.ts";
import type { PlanOptions } from "../../src/engine/plan/make-plan.ts";
import { type ProbeReport, probe } from "../../src/engine/probe.ts";
import type { RunReport } from "../../src/engine/report/run-report.ts";
import { rotate } from "../../src/engine/rotate.ts";
import type { RotationSelection } from "../../src/engine/rotation/rotation-selection.ts";
import { type SyncPorts, type SyncSettings, sync } from "../../src/engine/sync.ts";
import type { DurabilityRisk } from "../../src/ports/ledger/ledger.ts";
import type { RunEvent } from "../../src/ports/observer.ts";
import { column, someRules } from "../builders/rules.ts";
import { type Fate, Instance } from "./instance.ts";
import { inMemoryLedger } from "./ledger/ledger.ts";
import { LedgerState } from "./ledger/ledger-state.ts";
import { InMemoryGroupService, type Network, ServiceState } from "./service.ts";
import { openSpool } from "./spool.ts";
import { InMemoryTenantSource, type TenantRecord } from "./tenant-source.ts";
import { InMemoryTokenStore, TokenState } from "./token-store.ts";
import { VirtualClock, VirtualTime } from "./virtual-time.ts";

export const BASE_URL = "https://dashboards.example.com";

export interface StartOptions extends Fate, PlanOptions {
  readonly settings?: Partial<SyncSettings>;
  readonly signal?: AbortSignal;
  readonly seed?: number;
}

/** A started run: its process, its clock, its events so far, and its report. */
export interface Started<Report = RunReport> {
  readonly instance: Instance;
  readonly clock: VirtualClock;
  readonly events: readonly RunEvent[];
  readonly report: Promise<Report | "died">;
}

/** Everything outside the program that outlives it: databases, the service, time. */
export class World {
  readonly time = new VirtualTime();
  readonly service = new ServiceState();
  readonly ledger = new LedgerState();
  readonly store = new TokenState();
  /** The network between the program and the service. */
  network: Network = async () => {};
  /** Shared by the runs of one process; undefined if each run has a process of its own. */
  recent: RecentCommits | undefined;
  risks: readonly DurabilityRisk[] = [];
  /** What the databases report about their durability. A test plays their crashes itself. */
  readonly durability = { broken: 0, risks: async (): Promise<readonly DurabilityRisk[]> => this.risks };
  tenants: TenantRecord[];

  constructor(tenants: readonly TenantRecord[] = []) {
    this.tenants = [...tenants];
  }

  /** The ports of one process to this world. */
  ports(instance: Instance, clock: VirtualClock): Omit<SyncPorts, "observe"> {
    const { step } = instance;
    const ledger = inMemoryLedger(this.ledger, step, () => this.time.now());
    return {
      source: new InMemoryTenantSource(this.tenants, step),
      service: new InMemoryGroupService(this.service, step, (sent) => this.network(sent)),
      tokens: new InMemoryTokenStore(this.store, step, ledger),
      ledger,
      clock,
      openSpool,
      durability: this.durability,
      recent: this.recent ?? new RecentCommits(clock),
    };
  }

  start({ settings, signal, seed, ...options }: StartOptions = {}): Started {
    const { only, approval, verifyTokens, refresh, refreshApproval, ...fate } = options;
    const instance = new Instance(fate);
    const clock = new VirtualClock(this.time, seed);
    const events: RunEvent[] = [];
    const ports = { ...this.ports(instance, clock), observe: (event: RunEvent) => events.push(event) };
    const ended = sync(
      ports,
      syncSettings(settings),
      { only, approval, verifyTokens, refresh, refreshApproval },
      signal ?? new AbortController().signal,
    );
    return { instance, clock, events, report: Promise.race([ended, instance.died]) };
  }

  /** Starts `rotate`. */
  startRotation(
    selection: RotationSelection,
    { settings, signal, seed, ...fate }: StartOptions = {},
  ): Started {
    const instance = new Instance(fate);
    const clock = new VirtualClock(this.time, seed);
    const events: RunEvent[] = [];
    const ports = { ...this.ports(instance, clock), observe: (event: RunEvent) => events.push(event) };
    const ended = rotate(ports, syncSettings(settings), selection, signal ?? new AbortController().signal);
    return { instance, clock, events, report: Promise.race([ended, instance.died]) };
  }

  /** Starts `probe`. */
  startProbe({ settings, signal, seed, ...fate }: StartOptions = {}): Started<ProbeReport> {
    const instance = new Instance(fate);
    const clock = new VirtualClock(this.time, seed);
    const events: RunEvent[] = [];
    const ports = { ...this.ports(instance, clock), observe: (event: RunEvent) => events.push(event) };
    const ended = probe(ports, syncSettings(settings), signal ?? new AbortController().signal);
    return { instance, clock, events, report: Promise.race([ended, instance.died]) };
  }

  /** Starts `forget`, with the scope's own config. */
  startForget(
    { deletesGroups }: { readonly deletesGroups: boolean },
    { settings, signal, seed, ...fate }: StartOptions = {},
  ): Started<Forgotten> {
    const instance = new Instance(fate);
    const clock = new VirtualClock(this.time, seed);
    const events: RunEvent[] = [];
    const ports = { ...this.ports(instance, clock), observe: (event: RunEvent) => events.push(event) };
    const forget = deletesGroups ? deleteAndForget : forgetScope;
    const ended = forget(ports, syncSettings(settings), signal ?? new AbortController().signal);
    // A test that expects its death doesn't await its end.
    ended.catch(() => {});
    return { instance, clock, events, report: Promise.race([ended, instance.died]) };
  }

  /** Runs a sync that is expected to end, well or not; throws if the process dies. */
  async sync(options: StartOptions = {}): Promise<RunReport> {
    const report = await this.start(options).report;
    if (report === "died") throw new Error("it died");
    return report;
  }
}

/** Rows have the columns id, name and plan. */
export const syncSettings = (overrides: Partial<SyncSettings> = {}): SyncSettings => ({
  rules: someRules({ properties: { kind: "keys", keys: { plan: column("plan") } } }),
  update: "upsert",
  deletion: { when: "absent", gracePeriodMs: 0, limit: { count: 1_000, percent: 100 } },
  source: "customers",
  rotation: { maxAgeMs: null, window: null, maxPerRun: null, concurrency: 1 },
  refresh: { everyMs: null },
  name: "default",
  tokenDestinations: ["here"],
  baseUrl: BASE_URL,
  concurrency: 4,
  lease: { holder: "this", ttlMs: 45_000, callMs: 15_000, isDead: async () => false },
  ...overrides,
});

/** Rows with these ids, and with matching names. */
export const tenants = (...ids: string[]): TenantRecord[] =>
  ids.map((id) => ({ id, name: `Name of ${id}`, plan: "gold" }));
