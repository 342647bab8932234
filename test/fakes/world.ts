import { RecentWrites } from "../../src/core/record/recent-writes.ts";
import { deleteAndForget, type Forgotten, forgetScope } from "../../src/engine/forget.ts";
import type { PlanOptions } from "../../src/engine/plan/make-plan.ts";
import { type ProbeReport, probe } from "../../src/engine/probe.ts";
import type { RunReport } from "../../src/engine/report/run-report.ts";
import type { RotationSelection } from "../../src/engine/rotate.ts";
import { cancelRotations, rotate } from "../../src/engine/rotate.ts";
import { type SyncPorts, type SyncSettings, sync } from "../../src/engine/sync.ts";
import type { DurabilityRisk } from "../../src/ports/ledger/ledger.ts";
import type { RunEvent } from "../../src/ports/observer.ts";
import { column, someRules } from "../builders/rules.ts";
import { type Fate, Instance, type Point } from "./instance.ts";
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
  /** As `sync --refresh` does. */
  readonly refresh?: boolean;
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
  recent: RecentWrites | undefined;
  risks: readonly DurabilityRisk[] = [];
  readonly durabilityRisks = async (): Promise<readonly DurabilityRisk[]> => this.risks;
  tenants: TenantRecord[];

  constructor(tenants: readonly TenantRecord[] = []) {
    this.tenants = [...tenants];
  }

  /** The ports of one process to this world. */
  ports(instance: Instance, clock: VirtualClock): Omit<SyncPorts, "observe"> {
    const { step } = instance;
    const recent = this.recent ?? new RecentWrites(clock.now());
    const ledger = inMemoryLedger(this.ledger, step, () => this.time.now(), { recent });
    return {
      source: new InMemoryTenantSource(this.tenants, step),
      service: new InMemoryGroupService(this.service, step, (sent) => this.network(sent)),
      tokens: new InMemoryTokenStore(this.store, step, ledger),
      ledger,
      clock,
      openSpool,
      durabilityRisks: this.durabilityRisks,
      recent,
    };
  }

  start({ refresh, ...options }: StartOptions = {}): Started {
    const mark = refresh ? ({ kind: "refresh_wanted" } as const) : options.mark;
    return this.launch(options, (ports, settings, signal) =>
      sync(ports, settings, { ...options, mark }, signal),
    );
  }

  /** Starts `rotate`. */
  startRotation(selection: RotationSelection, options: StartOptions = {}): Started {
    return this.launch(options, (ports, settings, signal) => rotate(ports, settings, selection, signal));
  }

  /** Takes back what rotations were asked for, of all groups or of those in `ids`. */
  async cancelRotations(ids?: ReadonlySet<string>, options: StartOptions = {}): Promise<RunReport> {
    return ended(
      this.launch(options, (ports, settings, signal) => cancelRotations(ports, settings, ids, signal)),
    );
  }

  /** Starts `probe`. */
  startProbe(options: StartOptions = {}): Started<ProbeReport> {
    return this.launch(options, probe);
  }

  /** Starts `forget`, with the scope's own config. */
  startForget(
    { deletesGroups }: { readonly deletesGroups: boolean },
    options: StartOptions = {},
  ): Started<Forgotten> {
    return this.launch(options, deletesGroups ? deleteAndForget : forgetScope);
  }

  private launch<Report>(
    { settings, signal = new AbortController().signal, seed, ...fate }: StartOptions,
    run: (ports: SyncPorts, settings: SyncSettings, signal: AbortSignal) => Promise<Report>,
  ): Started<Report> {
    const instance = new Instance(fate);
    const clock = new VirtualClock(this.time, seed);
    const events: RunEvent[] = [];
    const ports = { ...this.ports(instance, clock), observe: (event: RunEvent) => events.push(event) };
    const ended = run(ports, syncSettings(settings), signal);
    // A test that expects its death doesn't await its end.
    ended.catch(() => {});
    return { instance, clock, events, report: Promise.race([ended, instance.died]) };
  }

  /** The requests that the service has had, such as `GET a`. */
  get sent(): string[] {
    return this.service.requests.map(({ operation, id }) => `${operation} ${id}`);
  }

  /** Runs a sync that is expected to end, well or not; throws if the process dies. */
  async sync(options: StartOptions = {}): Promise<RunReport> {
    return ended(this.start(options));
  }

  /** Runs a rotation that is expected to end, well or not; throws if the process dies. */
  async rotate(
    selection: RotationSelection = { kind: "all" },
    options: StartOptions = {},
  ): Promise<RunReport> {
    return ended(this.startRotation(selection, options));
  }
}

export async function ended({ report }: Started): Promise<RunReport> {
  const end = await report;
  if (end === "died") throw new Error("it died");
  return end;
}

/** A world in which these tenants have their groups, and no request is remembered. */
export async function aSyncedWorld(
  ids: readonly string[],
  settings: Partial<SyncSettings> = {},
): Promise<World> {
  const world = new World(tenants(...ids));
  await world.sync({ settings });
  world.service.requests.length = 0;
  return world;
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

/** The store takes the present tokens of these groups, and refuses new ones. */
export const refusesNew =
  (world: World, ...ids: string[]) =>
  ({ when, call, id }: Point): void => {
    if (when === "after" && call === "rotate" && ids.includes(id ?? "")) world.store.refused.add(id ?? "");
  };
