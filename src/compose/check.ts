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
import { dueTimesOf } from "../daemon/schedule.ts";
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
import type { LogEntry } from "../ports/log.ts";
import { changeChannel, changeFeed } from "./changes.ts";
import { readConfig } from "./config.ts";
import { Databases, LEDGER_CONNECTIONS, TOKEN_CONNECTIONS, VIEW_TIMEOUTS } from "./databases.ts";
import type { Host, Opened } from "./host.ts";
import { composePlan, type PlanSetup } from "./plan.ts";
import { connectionOf } from "./sync.ts";
import { tenantSource } from "./tenant-source.ts";

/** What the operator allows beyond what leaves no trace. */
export interface CheckOptions {
  /** To send a test to the webhook and the heartbeat. */
  readonly notify: boolean;
}

export interface CheckSetup extends Omit<CheckLimits, "stop"> {
  readonly checks: readonly Check[];
}

/** How long one check may take, in milliseconds. Long enough to read a source of millions of rows. */
const LIMIT = 300_000;
const TIMES_SHOWN = 3;
const RIGHTS = "the rights of its user: docs/security.md#roles-and-rights";

/** What `check` needs. Throws CONFIG_… if the config is wrong. Contacts nothing before a check begins. */
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

  /** Each check opens its own connections, so that one that fails hides no other. */
  const opened = (find: (setup: PlanSetup, stop: AbortSignal) => AsyncIterable<Finding>): Check["run"] =>
    whileOpen((stop) => composePlan(config, { ...host, stop }), find);

  const sourceCheck: Check = {
    title: "source",
    remedy: `check source.url, and ${RIGHTS}`,
    run: opened(({ ports }, stop) =>
      sourceFindings(ports.source, { rules: group, database: checked(source.url) }, stop),
    ),
  };

  const { column, channel } = source.changes;
  const changesCheck: Check = {
    title: "changes",
    remedy: "see docs/new-tenants.md",
    async *run(stop) {
      if (column !== undefined) yield* columnFindings(await changeFeed(config, column), stop);
      if (channel !== undefined) yield* channelFindings(await changeChannel(config, channel), stop);
    },
  };

  const ledgerCheck: Check = {
    title: "ledger",
    remedy: `check ledger.url, and ${RIGHTS}`,
    run: opened(({ ports }) =>
      ledgerFindings(ports.ledger, { database: checked(ledger.url), baseUrl, update }),
    ),
  };

  const tokenCheck: Check = {
    title: "tokens",
    remedy: "check the config's section tokens, and the rights there: docs/security.md#roles-and-rights",
    run: opened(({ ports, tokens }) => tokenFindings({ ledger: ports.ledger, tokens }, { name, baseUrl })),
  };

  const planCheck: Check = {
    title: "plan",
    remedy: "groupsync plan shows more",
    run: opened(planFindings),
  };

  const connectionCheck: Check = {
    title: "connections",
    remedy: "see docs/databases.md",
    run: whileOpen((stop) => connectionsAtOnce(config, { ...host, stop }), connectionFindings),
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
    run: () => scheduleFindings(schedule, dueTimesOf(schedule).nextRuns(TIMES_SHOWN, new Date())),
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
      configCheck,
      sourceCheck,
      ...(column === undefined && channel === undefined ? [] : [changesCheck]),
      ledgerCheck,
      tokenCheck,
      planCheck,
      connectionCheck,
      serviceCheck,
      scheduleCheck,
      httpCheck,
      notifyCheck,
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
 * it renews its lease beside a transaction of the ledger; and what the daemon has open besides for `source.changes.column`.
 * A pooler in session mode reserves a connection for each.
 */
async function connectionsAtOnce(config: Config, { stop }: Host): Promise<Opened<readonly SyncConnection[]>> {
  const { name, group } = config;
  const { column } = config.source.changes;
  const databases = new Databases(name, VIEW_TIMEOUTS, stop);
  const source = await tenantSource(config, databases);
  const feed = column === undefined ? undefined : await changeFeed(config, column);
  const ledger = await databases.open(config.ledger.url, LEDGER_CONNECTIONS);
  const tokens = await Promise.all(
    config.tokens.flatMap((store) =>
      store.store === "table" ? [databases.open(store.url, TOKEN_CONNECTIONS)] : [],
    ),
  );
  const [columns, seed] = [columnsOf(group), digestSeed(group)];
  const reading = (
    what: string,
    open: (stop: AbortSignal) => Promise<{ close(): Promise<unknown> }>,
  ): SyncConnection => ({
    for: `for ${what}`,
    open: async (until) => {
      const opened = await soon(until, open);
      return () => opened.close();
    },
  });
  const writing = (what: string, database: Database, code: string): SyncConnection => ({
    for: `for ${what}`,
    open: () => transactionIn(database, code, `open ${what}`),
  });
  return {
    value: [
      ...(feed
        ? [
            reading("source.changes.column", (until) => feed.open(until)),
            reading("single tenants", (until) => source.lookups(columns, seed, until)),
          ]
        : []),
      reading("the source", (until) => source.open(columns, seed, until)),
      writing("the ledger", ledger, "LEDGER_UNAVAILABLE"),
      // A token table in the ledger's database takes part in the ledger's transactions.
      ...[...new Set(tokens)]
        .filter((database) => database !== ledger)
        .map((database) => writing("the tokens", database, "TOKEN_STORE_UNAVAILABLE")),
      writing("the ledger a second time", ledger, "LEDGER_UNAVAILABLE"),
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
