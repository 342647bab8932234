import { DiskSpool } from "./adapters/disk/spool.ts";
import { hostClock } from "./adapters/host/clock.ts";
import { isDead, thisInstance } from "./adapters/host/instance.ts";
import { readableByAll } from "./adapters/host/readable-by-all.ts";
import { readTextFile } from "./adapters/host/text-file.ts";
import type { Patience } from "./adapters/sql/attendance.ts";
import type { Database, DatabaseOptions } from "./adapters/sql/database.ts";
import { SqlLedger } from "./adapters/sql/ledger.ts";
import { SqlLedgerView } from "./adapters/sql/ledger-view.ts";
import { type NamedSecret, secretTables } from "./adapters/sql/secret-tables.ts";
import type { Terminal } from "./adapters/terminal/progress-bar.ts";
import type { Opened } from "./commands/io.ts";
import type { PlanSetup } from "./commands/plan.ts";
import type { SyncSetup } from "./commands/sync.ts";
import { openTokens } from "./compose-tokens.ts";
import type { Config, DatabaseUrl } from "./config/config.ts";
import { loadConfig, type TellWritten } from "./config/load.ts";
import { describeSource } from "./config/source-description.ts";
import { describeTokenPlaces } from "./config/token-places.ts";
import { type ReadableSecrets, readableSecrets } from "./core/readable-secrets.ts";
import type { PlanSettings } from "./engine/plan-run.ts";
import { RecentCommits } from "./engine/recent-commits.ts";
import type { Durability, DurabilityRisk } from "./ports/durability.ts";
import type { LedgerView } from "./ports/ledger.ts";
import type { Observe } from "./ports/observer.ts";
import type { TenantSource } from "./ports/tenant-source.ts";

/** What the ports need of the process. */
export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  /** By whose rights files are written. */
  readonly uid: number;
  readonly isRunning: (pid: number) => boolean;
  /** Standard error, where it is a terminal. */
  readonly terminal: Terminal | undefined;
  /** Aborted when the process is told to stop: reads end then, whatever they wait for. */
  readonly stop: AbortSignal;
}

/** Throws a SyncError with a CONFIG_… code where the file is missing or wrong. */
export const readConfig = (path: string, host: Host, observe: Observe): Config =>
  loadConfig(
    path,
    { env: host.env, readFile: readTextFile },
    warnOfReadable(path, host, (warning) => observe({ kind: "warning", ...warning })),
  );

/** For a config file that everybody on this machine can read. */
export const warnOfReadable =
  (path: string, { uid }: Host, warn: (warning: ReadableSecrets) => void): TellWritten =>
  (keys) => {
    const file = keys.length > 0 ? readableByAll(path) : undefined;
    if (file) warn(readableSecrets(path, file, keys, uid));
  };

/**
 * Beside these: one connection that reads the source, and one for each rotation at a time, which keeps it while its token
 * goes to a store elsewhere.
 */
const LEDGER_CONNECTIONS = 2;
const TOKEN_CONNECTIONS = 2;
const VIEW_CONNECTIONS = 2;

/** A lock for longer is somebody's mistake or a long migration: the next run may find it gone. */
const PATIENCE: Patience = { silenceMs: 10_000, lookMs: 10_000, lockMs: 30_000 };
/** Somebody looks at the screen. */
const VIEW_PATIENCE: Patience = { silenceMs: 2_000, lookMs: 5_000, lockMs: 5_000 };

/** Less than most leases are long: who stands still in a transaction keeps nobody from the lease for longer. */
const IDLE_MS = 30_000;

/**
 * What `sync` needs. Nothing is contacted before it is used; the caller closes it. `recent` is what the process has
 * committed before.
 */
export async function composeSync(
  config: Config,
  host: Host,
  observe: Observe,
  recent = new RecentCommits(hostClock),
): Promise<Opened<SyncSetup>> {
  const { service } = config;
  const databases = new Databases(config.name, PATIENCE, host.stop);
  const ledgerDatabase = await databases.open(
    config.ledger.url,
    LEDGER_CONNECTIONS + config.rotation.concurrency,
  );
  const tokens = await openTokens(config, host.uid, (url) => databases.open(url, TOKEN_CONNECTIONS));
  const { HttpGroupService } = await import("./adapters/service/http.ts");
  const groups = new HttpGroupService(service);
  const holder = await thisInstance(host.pid);
  return {
    value: {
      ports: {
        source: await tenantSource(config, databases),
        service: groups,
        tokens: tokens.value,
        ledger: new SqlLedger(ledgerDatabase, config.ledger, config.name, config.historyMs),
        clock: hostClock,
        openSpool: () => new DiskSpool(),
        observe,
        durability: databases,
        recent,
      },
      settings: {
        ...planSettings(config),
        rotation: config.rotation,
        tokenPlaces: describeTokenPlaces(config.tokens),
        baseUrl: service.baseUrl,
        concurrency: service.concurrency,
        rateLimit: service.rateLimit,
        lease: {
          holder,
          // A call that starts with a fresh lease can run into its time limit twice before the lease ends.
          ttlMs: 2 * service.timeoutMs + 15_000,
          callMs: service.timeoutMs,
          isDead: (other) => isDead(other, host.isRunning),
        },
      },
    },
    close: async () => {
      await groups.close();
      await tokens.close();
      await databases.close();
    },
  };
}

/** What `plan` needs, likewise; it has no way to call the service. */
export async function composePlan(config: Config, { uid, stop }: Host): Promise<Opened<PlanSetup>> {
  const databases = new Databases(config.name, VIEW_PATIENCE, stop);
  const ledger = await openLedgerView(config, databases);
  const tokens = await openTokens(config, uid, (url) => databases.open(url, VIEW_CONNECTIONS));
  return {
    value: {
      ports: { source: await tenantSource(config, databases), ledger, openSpool: () => new DiskSpool() },
      settings: planSettings(config),
      rotation: config.rotation,
      tokens: tokens.value,
      tokenPlaces: describeTokenPlaces(config.tokens),
      baseUrl: config.service.baseUrl,
      now: () => hostClock.now(),
    },
    close: async () => {
      await tokens.close();
      await databases.close();
    },
  };
}

/** What `status` needs, likewise. */
export async function composeLedgerView(config: Config, { stop }: Host): Promise<Opened<LedgerView>> {
  const databases = new Databases(config.name, VIEW_PATIENCE, stop);
  return { value: await openLedgerView(config, databases), close: () => databases.close() };
}

const openLedgerView = async ({ ledger, name }: Config, databases: Databases): Promise<SqlLedgerView> =>
  new SqlLedgerView(await databases.open(ledger.url, VIEW_CONNECTIONS), ledger, name);

const planSettings = ({ name, group, service, source, deletion }: Config): PlanSettings => ({
  name,
  rules: group,
  update: service.update,
  deletion,
  source: describeSource(source, group.id),
});

async function tenantSource(config: Config, databases: Databases): Promise<TenantSource> {
  const { name, source } = config;
  const { dialect, url } = source.url;
  const options = {
    ...source,
    url,
    applicationName: applicationName(name),
    patience: PATIENCE,
    secretTables: async () => secretTables(await namedSecrets(config, databases)),
  };
  switch (dialect) {
    case "postgres": {
      const { PostgresTenantSource } = await import("./adapters/postgres/tenant-source.ts");
      return new PostgresTenantSource(options);
    }
    case "mysql": {
      const { MysqlTenantSource } = await import("./adapters/mysql/tenant-source.ts");
      return new MysqlTenantSource(options);
    }
  }
}

/** The tables of the tokens and the ledger that may be in the source's database. */
const namedSecrets = ({ source, tokens, ledger }: Config, databases: Databases): Promise<NamedSecret[]> =>
  Promise.all(
    [...tokens.filter((store) => store.store === "table"), ledger]
      .filter(({ url }) => url.dialect === source.url.dialect)
      .map(async (at) => ({ database: await databases.open(at.url, VIEW_CONNECTIONS), at })),
  );

const applicationName = (name: string): string => `groupsync:${name}`;

/** One pool for each url: what shares a database can then share a transaction. */
class Databases implements Durability {
  readonly #shared: Omit<DatabaseOptions, "url" | "maxConnections">;
  readonly #open = new Map<string, Database>();

  constructor(name: string, patience: Patience, stop: AbortSignal) {
    this.#shared = { applicationName: applicationName(name), idleMs: IDLE_MS, patience, stop };
  }

  async open({ dialect, url }: DatabaseUrl, maxConnections: number): Promise<Database> {
    const Kind = await kindOfDatabase(dialect);
    const known = this.#open.get(url.reveal());
    if (known) return known;
    const database = new Kind({ ...this.#shared, url, maxConnections });
    this.#open.set(url.reveal(), database);
    return database;
  }

  get broken(): number {
    return [...this.#open.values()].reduce((sum, { broken }) => sum + broken, 0);
  }

  async risks(): Promise<readonly DurabilityRisk[]> {
    const risks = await Promise.all(
      [...this.#open.values()].map((database) => database.dialect.durabilityRisks(database)),
    );
    return [...new Map(risks.flat().map((risk) => [risk.setting, risk])).values()];
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((database) => database.close()));
  }
}

/** The driver of a kind that the config doesn't name is never loaded. */
async function kindOfDatabase(
  dialect: DatabaseUrl["dialect"],
): Promise<new (options: DatabaseOptions) => Database> {
  switch (dialect) {
    case "postgres":
      return (await import("./adapters/postgres/database.ts")).PostgresDatabase;
    case "mysql":
      return (await import("./adapters/mysql/database.ts")).MysqlDatabase;
  }
}
