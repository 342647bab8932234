import { databaseError } from "../adapters/sql/connection/failures.ts";
import type { SessionTimeouts } from "../adapters/sql/connection/wait-limits.ts";
import type { Database, DatabaseOptions } from "../adapters/sql/dialect/database.ts";
import { sqlLedgerView } from "../adapters/sql/ledger/ledger.ts";
import type { Config } from "../config/config.ts";
import type { DatabaseUrl } from "../config/urls.ts";
import type { DurabilityRisk, LedgerView } from "../ports/ledger/ledger.ts";
import type { Host } from "./host.ts";
import type { Opened } from "./opened.ts";

/** The most connections to one database, beside one for each rotation that is under way. */
export const CONNECTIONS = 2;

/** A query of the source may compute for long before its first row. TCP notices sooner that a host has gone under it. */
const SILENCE_MS = 30 * 60_000;

/** If a lock lasts longer, it is somebody's mistake or a long migration. The next run may find it gone. */
export const TIMEOUTS: SessionTimeouts = { lockMs: 30_000, silenceMs: SILENCE_MS };
/** For commands whose user waits at the screen. */
export const VIEW_TIMEOUTS: SessionTimeouts = { lockMs: 5_000, silenceMs: SILENCE_MS };

/**
 * Shorter than most leases. If an instance stands still inside a transaction, the database ends the transaction before
 * another instance needs the lease.
 */
const IDLE_MS = 30_000;

export const applicationName = (name: string): string => `groupsync:${name}`;

/** One pool for each url, because the ledger and a token table in one database share transactions. */
export class Databases {
  readonly #shared: Omit<DatabaseOptions, "url" | "maxConnections">;
  readonly #open = new Map<string, Database>();

  constructor(name: string, timeouts: SessionTimeouts, stop: AbortSignal) {
    this.#shared = { applicationName: applicationName(name), idleMs: IDLE_MS, timeouts, stop };
  }

  async open({ dialect, url }: DatabaseUrl, maxConnections = CONNECTIONS): Promise<Database> {
    const { Database } = await adapterFor(dialect);
    const known = this.#open.get(url.reveal());
    if (known) return known;
    const database = new Database({ ...this.#shared, url, maxConnections });
    this.#open.set(url.reveal(), database);
    return database;
  }

  async risks(): Promise<readonly DurabilityRisk[]> {
    const risks = await Promise.all(
      [...this.#open.values()].map((database) =>
        database.dialect.durabilityRisks(database).catch((error: unknown) => {
          const doing = "cannot ask the database whether a crash would undo its commits";
          throw databaseError(database.dialect, "LEDGER_UNAVAILABLE", doing, error);
        }),
      ),
    );
    return [...new Map(risks.flat().map((risk) => [risk.setting, risk])).values()];
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((database) => database.close()));
  }
}

/** Loads a database driver only if the config names its kind of database. */
export const adapterFor = (dialect: DatabaseUrl["dialect"]) =>
  dialect === "postgres" ? import("../adapters/postgres/adapter.ts") : import("../adapters/mysql/adapter.ts");

/** What `status` and the status page need. Contacts nothing before its first use; the caller closes it. */
export async function composeLedgerView(config: Config, { stop }: Host): Promise<Opened<LedgerView>> {
  const databases = new Databases(config.name, VIEW_TIMEOUTS, stop);
  return { value: await openLedgerView(config, databases), close: () => databases.close() };
}

export const openLedgerView = async ({ ledger, name }: Config, databases: Databases): Promise<LedgerView> =>
  sqlLedgerView(await databases.open(ledger.url), ledger, name);
