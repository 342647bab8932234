import { readFileSync } from "node:fs";
import { DiskSpool } from "./adapters/disk/spool.ts";
import { hostClock } from "./adapters/host/clock.ts";
import { isDead, thisInstance } from "./adapters/host/instance.ts";
import { createLogger, type LogLevel } from "./adapters/log/logger.ts";
import { runLog } from "./adapters/log/run-log.ts";
import { MysqlDatabase } from "./adapters/mysql/database.ts";
import { MysqlTenantSource } from "./adapters/mysql/tenant-source.ts";
import { PostgresDatabase } from "./adapters/postgres/database.ts";
import { PostgresTenantSource } from "./adapters/postgres/tenant-source.ts";
import { HttpGroupService } from "./adapters/service/http.ts";
import type { Database, DatabaseOptions } from "./adapters/sql/database.ts";
import { SqlLedger } from "./adapters/sql/ledger.ts";
import { SqlLedgerView } from "./adapters/sql/ledger-view.ts";
import { progressBar, type Terminal } from "./adapters/terminal/progress-bar.ts";
import type { Opened } from "./commands/io.ts";
import type { PlanSetup } from "./commands/plan.ts";
import type { SyncSetup } from "./commands/sync.ts";
import { openTokens } from "./compose-tokens.ts";
import type { Config, DatabaseUrl } from "./config/config.ts";
import { loadConfig } from "./config/load.ts";
import { describeSource } from "./config/source-description.ts";
import { describeTokenPlaces } from "./config/token-places.ts";
import type { PlanSettings } from "./engine/plan-run.ts";
import type { LedgerView } from "./ports/ledger.ts";
import type { Observe } from "./ports/observer.ts";
import type { TenantSource } from "./ports/tenant-source.ts";

/** What the ports need of the process. */
export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  readonly isRunning: (pid: number) => boolean;
  /** Standard error, where it is a terminal. */
  readonly terminal: Terminal | undefined;
}

/** Throws a SyncError with a CONFIG_… code where the file is missing or wrong. */
export const readConfig = (path: string, { env }: Host): Config =>
  loadConfig(path, { env, readFile: (file) => readFileSync(file, "utf8") });

/**
 * Beside these: one connection that reads the source, and one for each rotation at a time, which keeps it while its token
 * goes to a store elsewhere.
 */
const LEDGER_CONNECTIONS = 2;
const TOKEN_CONNECTIONS = 2;
const VIEW_CONNECTIONS = 2;

/** What `sync` needs. Nothing is contacted before it is used; the caller closes it. */
export async function composeSync(config: Config, host: Host, observe: Observe): Promise<Opened<SyncSetup>> {
  const { service } = config;
  const databases = new Databases(config.name);
  const ledgerDatabase = databases.open(config.ledger.url, LEDGER_CONNECTIONS + config.rotation.concurrency);
  const tokens = openTokens(config, (url) => databases.open(url, TOKEN_CONNECTIONS));
  const groups = new HttpGroupService(service);
  const holder = await thisInstance(host.pid);
  return {
    value: {
      ports: {
        source: tenantSource(config),
        service: groups,
        tokens: tokens.value,
        ledger: new SqlLedger(ledgerDatabase, config.ledger, config.name, config.historyMs),
        clock: hostClock,
        openSpool: () => new DiskSpool(),
        observe,
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
export function composePlan(config: Config): Opened<PlanSetup> {
  const ledger = composeLedgerView(config);
  return {
    value: {
      ports: { source: tenantSource(config), ledger: ledger.value, openSpool: () => new DiskSpool() },
      settings: planSettings(config),
      rotation: config.rotation,
      tokenPlaces: describeTokenPlaces(config.tokens),
      now: () => hostClock.now(),
    },
    close: ledger.close,
  };
}

/** What `status` needs, likewise. */
export function composeLedgerView(config: Config): Opened<LedgerView> {
  const databases = new Databases(config.name);
  const database = databases.open(config.ledger.url, VIEW_CONNECTIONS);
  return {
    value: new SqlLedgerView(database, config.ledger, config.name),
    close: () => databases.close(),
  };
}

const planSettings = ({ group, service, source, deletion }: Config): PlanSettings => ({
  rules: group,
  update: service.update,
  deletion,
  source: describeSource(source, group.id),
});

function tenantSource({ name, source }: Config): TenantSource {
  const { dialect, url } = source.url;
  const options = { ...source, url, applicationName: applicationName(name) };
  switch (dialect) {
    case "postgres":
      return new PostgresTenantSource(options);
    case "mysql":
      return new MysqlTenantSource(options);
  }
}

/** What a command tells of its run on standard error. */
export function observer({ terminal }: Host, level: LogLevel): Observe {
  // On a terminal the bar says it all; asked for more, the log does.
  if (terminal && level === "info") return progressBar(terminal, hostClock);
  return runLog(createLogger(level, terminal !== undefined), hostClock);
}

const applicationName = (name: string): string => `groupsync:${name}`;

/** One pool for each url: what shares a database can then share a transaction. */
class Databases {
  readonly #applicationName: string;
  readonly #open = new Map<string, Database>();

  constructor(name: string) {
    this.#applicationName = applicationName(name);
  }

  open({ dialect, url }: DatabaseUrl, maxConnections: number): Database {
    const known = this.#open.get(url.reveal());
    if (known) return known;
    const options = { url, applicationName: this.#applicationName, maxConnections };
    const database = openDatabase(dialect, options);
    this.#open.set(url.reveal(), database);
    return database;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((database) => database.close()));
  }
}

function openDatabase(dialect: DatabaseUrl["dialect"], options: DatabaseOptions): Database {
  switch (dialect) {
    case "postgres":
      return new PostgresDatabase(options);
    case "mysql":
      return new MysqlDatabase(options);
  }
}
