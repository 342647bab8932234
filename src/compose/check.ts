import { addressTrial } from "../adapters/host/address-trial.ts";
import { hostClock } from "../adapters/host/clock.ts";
import { databaseError } from "../adapters/sql/connection/failures.ts";
import type { WaitLimits } from "../adapters/sql/connection/wait-limits.ts";
import type { Database } from "../adapters/sql/dialect/database.ts";
import type { Config } from "../config/config.ts";
import { describeDatabase } from "../config/destinations.ts";
import { type DatabaseUrl, defaultListenAddress } from "../config/urls.ts";
import { SyncError } from "../core/failure/sync-error.ts";
import { digestSeed } from "../core/group/desired-group.ts";
import { columnsOf } from "../core/group/group-rules.ts";
import { asFinding, type Finding, ok, warning } from "../core/report/finding.ts";
import { connectionPrivacy } from "../core/tls/database-tls.ts";
import { ticksOf } from "../daemon/schedule.ts";
import type { Check, CheckLimits } from "../engine/check/check.ts";
import {
  addressFindings,
  notifyFindings,
  scheduleFindings,
  type TrySending,
} from "../engine/check/daemon.ts";
import {
  type CheckedDatabase,
  channelFindings,
  columnFindings,
  connectionFindings,
  ledgerFindings,
  planFindings,
  type SyncConnection,
  sourceFindings,
  tokenFindings,
} from "../engine/check/databases.ts";
import { serviceFindings } from "../engine/check/service.ts";
import type { ChangeFeed } from "../ports/change-feed.ts";
import type { LogEntry } from "../ports/log.ts";
import { changeChannel, changeFeed } from "./changes.ts";
import { readConfig } from "./config.ts";
import {
  Databases,
  LEDGER_CONNECTIONS,
  TOKEN_CONNECTIONS,
  VIEW_CONNECTIONS,
  VIEW_TIMEOUTS,
} from "./databases.ts";
import type { Host } from "./host.ts";
import { composeLedgerView, openLedgerView } from "./ledger-view.ts";
import type { Opened } from "./opened.ts";
import { composePlan } from "./plan.ts";
import { connectionOf } from "./sync.ts";
import { tenantSource } from "./tenant-source.ts";
import { openTokens } from "./token-stores.ts";

/** What the operator allows beyond what leaves no trace. */
export interface CheckOptions {
  /** To send a test to the webhook and the heartbeat. */
  readonly notify: boolean;
}

export interface CheckSetup extends Omit<CheckLimits, "stop"> {
  /** Those of one list run one after the other. */
  readonly checks: readonly (readonly Check[])[];
}

/** How long one check may take, in milliseconds. Long enough to read a source of millions of rows. */
const LIMIT = 300_000;
const TICKS_SHOWN = 3;
const RIGHTS = "the rights of its user: docs/security.md#roles-and-rights";

/**
 * What `check` needs. Each check opens its own connections, so that one that fails hides no other. Throws CONFIG_… if the
 * config is wrong. Contacts nothing before a check begins.
 */
export function composeCheck(path: string, host: Host, { notify }: CheckOptions): CheckSetup {
  const warnings: Finding[] = [];
  const config = readConfig(path, host, (event) => {
    if (event.kind === "warning") warnings.push(asFinding("warning", event));
  });
  const { name, service, source, group, ledger, http } = config;
  const { base_url: baseUrl, update } = service;

  const configCheck: Check = {
    title: "config",
    remedy: "see docs/configuration.md",
    async *run() {
      yield ok(`${path} is valid; its name is ${name}`);
      yield* warnings;
      if (group.mapping.kind === "keys" && Object.keys(group.mapping.keys).length === 0)
        yield warning(
          "group.mapping is empty: each group sees the default data source of each schema",
          "if that is not meant, write the id of each schema there, and the column that has the tenant's data source",
        );
    },
  };

  const sourceCheck: Check = {
    title: "source",
    remedy: `check source.url, and ${RIGHTS}`,
    run: whileOpen(
      async (stop) => {
        const databases = new Databases(name, VIEW_TIMEOUTS, stop);
        return { value: await tenantSource(config, databases), close: () => databases.close() };
      },
      (open, stop) => sourceFindings(open, { rules: group, database: checked(source.url) }, stop),
    ),
  };

  const { column, channel } = source.changes;
  const changes = { title: "changes", remedy: "see docs/new-tenants.md" };
  const columnCheck: Check | undefined =
    column === undefined
      ? undefined
      : {
          ...changes,
          async *run(stop) {
            const feed = await changeFeed(config, column);
            yield* columnFindings(feed, stop);
            yield* whileOpen(
              (until) => daemonConnections(config, feed, { ...host, stop: until }),
              (open, until) => connectionFindings(open, until, "the daemon"),
            )(stop);
          },
        };
  const channelCheck: Check | undefined =
    channel === undefined
      ? undefined
      : {
          ...changes,
          async *run(stop) {
            yield* channelFindings(await changeChannel(config, channel), stop);
          },
        };

  const ledgerCheck: Check = {
    title: "ledger",
    remedy: `check ledger.url, and ${RIGHTS}`,
    run: whileOpen(
      (stop) => composeLedgerView(config, { ...host, stop }),
      (view) => ledgerFindings(view, { database: checked(ledger.url), baseUrl, update }),
    ),
  };

  const tokenCheck: Check = {
    title: "tokens",
    remedy: "check the config's section tokens, and the rights there: docs/security.md#roles-and-rights",
    run: whileOpen(
      (stop) => openStores(config, { ...host, stop }),
      (stores) => tokenFindings(stores, { name, baseUrl }),
    ),
  };

  const planCheck: Check = {
    title: "plan",
    remedy: "groupsync plan shows more",
    run: whileOpen((stop) => composePlan(config, { ...host, stop }), planFindings),
  };

  const connectionCheck: Check = {
    title: "connections",
    remedy: "see docs/databases.md",
    run: whileOpen((stop) => syncConnections(config, { ...host, stop }), connectionFindings),
  };

  const serviceCheck: Check = {
    title: "service",
    remedy: "check service.base_url, and what stands between here and the service",
    run: whileOpen(
      async () => {
        const { HttpServiceTrial } = await import("../adapters/service/http-service-trial.ts");
        const trial = new HttpServiceTrial(connectionOf(config));
        return { value: trial, close: () => trial.close() };
      },
      (trial) => serviceFindings(trial, hostClock.now()),
    ),
  };

  const schedule = { line: config.schedule, timezone: config.timezone };
  const scheduleCheck: Check = {
    title: "schedule",
    remedy: "see docs/configuration.md",
    run: () => scheduleFindings(schedule, ticksOf(schedule).nextRuns(TICKS_SHOWN, new Date())),
  };

  const httpCheck: Check = {
    title: "http",
    remedy: "name another address in http.listen",
    run: () => addressFindings(addressTrial, { name, listen: http.listen ?? defaultListenAddress(host.env) }),
  };

  const notifyCheck: Check = {
    title: "notify",
    remedy: "check the addresses in the config's section notify",
    run: (stop) => {
      const { webhook, heartbeat } = config.notify;
      const set = { name, webhook: webhook !== undefined, heartbeat: heartbeat !== undefined };
      return notifyFindings(set, notify ? sendingTo(config, stop) : null);
    },
  };

  return {
    clock: hostClock,
    limitMs: LIMIT,
    checks: [
      [configCheck],
      // All at once they might use more connections than a sync does.
      [
        sourceCheck,
        ...(columnCheck ? [columnCheck] : []),
        ...(channelCheck ? [channelCheck] : []),
        ledgerCheck,
        tokenCheck,
        planCheck,
        connectionCheck,
      ],
      [serviceCheck],
      [scheduleCheck, httpCheck],
      [notifyCheck],
    ],
  };
}

/** Opens something for a check, and closes it at the end. */
const whileOpen = <T>(
  open: (stop: AbortSignal) => Promise<Opened<T>>,
  find: (value: T, stop: AbortSignal) => AsyncIterable<Finding>,
): Check["run"] =>
  async function* (stop) {
    const { value, close } = await open(stop);
    try {
      yield* find(value, stop);
    } finally {
      await close();
    }
  };

const checked = (at: DatabaseUrl): CheckedDatabase => ({
  title: describeDatabase(at),
  privacy: connectionPrivacy(at.dialect, at.url.reveal()),
});

async function openStores(config: Config, { uid, stop }: Host) {
  const databases = new Databases(config.name, VIEW_TIMEOUTS, stop);
  const tokens = await openTokens(config, uid, (url) => databases.open(url, VIEW_CONNECTIONS));
  return {
    value: { ledger: await openLedgerView(config, databases), tokens: tokens.value },
    close: async () => {
      await tokens.close();
      await databases.close();
    },
  };
}

/** Sends by the daemon's own notifier, and collects what the daemon would log of it. */
const sendingTo =
  ({ notify }: Config, stop: AbortSignal): TrySending =>
  async (send) => {
    const { HttpNotifier } = await import("../adapters/notify/http-notifier.ts");
    const logged: LogEntry[] = [];
    await send(new HttpNotifier(notify, hostClock, (entry) => logged.push(entry), stop));
    return logged;
  };

/** A pooler that has a connection to spare gives it sooner. */
const TRIAL: WaitLimits = { answerMs: 5_000, afterStopMs: 0, isRead: true };

/**
 * What a sync has open while it reads the source, while it writes to ledger and tokens in different databases, and while
 * it reads tokens or renews its lease beside a transaction of the ledger.
 */
async function syncConnections(config: Config, { stop }: Host): Promise<Opened<readonly SyncConnection[]>> {
  const { name, group } = config;
  const databases = new Databases(name, VIEW_TIMEOUTS, stop);
  const source = await tenantSource(config, databases);
  const ledger = await databases.open(config.ledger.url, LEDGER_CONNECTIONS);
  const tokens = await Promise.all(
    config.tokens.flatMap((store) =>
      store.store === "table" ? [databases.open(store.url, TOKEN_CONNECTIONS)] : [],
    ),
  );
  return {
    value: [
      {
        for: "for the source",
        open: async (until) => {
          const snapshot = await source.open(columnsOf(group), digestSeed(group), until);
          return () => snapshot.close();
        },
      },
      {
        for: "for the ledger",
        open: () => transactionIn(ledger, "LEDGER_UNAVAILABLE", "open the ledger"),
      },
      // A token table in the ledger's database takes part in the ledger's transactions.
      ...[...new Set(tokens)]
        .filter((database) => database !== ledger)
        .map((database) => ({
          for: "for the tokens",
          open: () => transactionIn(database, "TOKEN_STORE_UNAVAILABLE", "write tokens"),
        })),
      {
        for: "for the ledger a second time",
        // If both have the same url, the source's connection does once the source is read.
        isSpare: config.source.url.url.reveal() === config.ledger.url.url.reveal(),
        open: () => transactionIn(ledger, "LEDGER_UNAVAILABLE", "renew the lease"),
      },
    ],
    close: () => databases.close(),
  };
}

/**
 * What the daemon has open to the source while a sync reads it. A pooler in session mode reserves a connection for each, so
 * with fewer the daemon's syncs wait in vain.
 */
async function daemonConnections(
  config: Config,
  feed: ChangeFeed,
  { stop }: Host,
): Promise<Opened<readonly SyncConnection[]>> {
  const databases = new Databases(config.name, VIEW_TIMEOUTS, stop);
  const source = await tenantSource(config, databases);
  const [columns, seed] = [columnsOf(config.group), digestSeed(config.group)];
  const closing = async (opening: Promise<{ close(): Promise<unknown> }>): Promise<() => Promise<void>> => {
    const open = await opening;
    return async () => void (await open.close());
  };
  return {
    value: [
      { for: "for source.changes.column", open: (until) => closing(feed.open(until)) },
      {
        for: "for single tenants",
        open: (until) => closing(soon(until, (end) => source.lookUps(columns, seed, end))),
      },
      {
        for: "for a sync",
        open: (until) => closing(soon(until, (end) => source.open(columns, seed, end))),
      },
    ],
    close: () => databases.close(),
  };
}

/** Gives up once a pooler that has a connection to spare would have given it. */
async function soon<T>(until: AbortSignal, open: (stop: AbortSignal) => Promise<T>): Promise<T> {
  const limit = AbortSignal.timeout(TRIAL.answerMs);
  try {
    return await open(AbortSignal.any([until, limit]));
  } catch (cause) {
    if (!limit.aborted) throw cause;
    const silence = `the database has not answered for ${TRIAL.answerMs / 1_000} s`;
    throw new SyncError("SOURCE_UNAVAILABLE", `cannot read the source: ${silence}`, { cause });
  }
}

/** Begins a transaction, and resolves to what ends it. */
const transactionIn = (database: Database, code: string, doing: string): Promise<() => Promise<void>> =>
  new Promise((resolve, reject) => {
    const { dialect } = database;
    let end = (): void => {};
    const isOver = new Promise<void>((over) => {
      end = over;
    });
    const ended = database
      .transaction(
        dialect.begin.write,
        () => {
          resolve(() => {
            end();
            return ended;
          });
          return isOver;
        },
        TRIAL,
      )
      .catch((error: unknown) => {
        throw databaseError(dialect, code, `cannot ${doing}`, error);
      });
    ended.catch(reject);
  });
