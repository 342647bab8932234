import { resolve } from "node:path";
import { hostClock } from "../adapters/host/clock.ts";
import { readTextFile } from "../adapters/host/files.ts";
import { createLogger, logTo } from "../adapters/log/logger.ts";
import { runLog } from "../adapters/log/run-log.ts";
import { httpNotifier } from "../adapters/notify/http-notifier.ts";
import { acceptedConfig } from "../config/accepted-config.ts";
import type { Config } from "../config/config.ts";
import { defaultListenAddress } from "../config/urls.ts";
import { SyncError } from "../core/failure/sync-error.ts";
import { RecentWrites } from "../core/record/recent-writes.ts";
import { isConfigError } from "../core/report/exit-code.ts";
import type { LedgerStatus } from "../core/report/scope-facts.ts";
import { syncRequests } from "../daemon/http/sync-requests.ts";
import { Lifecycle, type LifecycleSettings } from "../daemon/lifecycle.ts";
import { measuredService } from "../daemon/metrics/measured-service.ts";
import { Metrics } from "../daemon/metrics/metrics.ts";
import { pages } from "../daemon/pages.ts";
import { cronTimetable } from "../daemon/schedule.ts";
import { servicePause } from "../daemon/service-pause.ts";
import { pageLookups } from "../daemon/status-page/page-lookups.ts";
import { type Explanation, explainTenant } from "../engine/explain/explain-tenant.ts";
import { type FoundTenant, findTenants } from "../engine/explain/find-tenants.ts";
import { ledgerStatus } from "../engine/ledger-status.ts";
import { Silence } from "../engine/refresh/sign-of-life.ts";
import type { Log, LogLevel } from "../ports/log.ts";
import type { Notifier } from "../ports/notifier.ts";
import { warnOfReadable } from "./config.ts";
import { verifyColumns, verifyTls } from "./config-checks.ts";
import { composeLedgerView } from "./databases.ts";
import type { Host } from "./host.ts";
import { using } from "./opened.ts";
import { composePlan } from "./plan.ts";
import { composeServing, feedsOf } from "./serving.ts";
import { composeSync } from "./sync.ts";

/** What `run` needs. Throws CONFIG_… if the config is wrong. Contacts nothing before the daemon begins. */
export async function composeDaemon(
  path: string,
  host: Host,
  { version, logLevel }: { readonly version: string; readonly logLevel: LogLevel },
): Promise<Lifecycle> {
  const signal = host.stop;
  const logger = await createLogger(logLevel, host.terminal !== undefined);
  const log = logTo(logger);
  const accepted = acceptedConfig(path, { env: host.env, readFile: readTextFile }, () =>
    warnOfReadable(path, host, (warning) => log({ level: "warn", ...warning })),
  );
  verifyTls(accepted.current());
  const notifierOf = keptNotifier(log, signal);
  const settingsOf = (config: Config): LifecycleSettings => ({
    ...configuredSettings(config, host),
    configPath: resolve(path),
    notifier: notifierOf(config.notify),
  });
  const recent = new RecentWrites(hostClock.now());
  const silence = new Silence();
  const metrics = new Metrics(() => lifecycle.daemon.state, hostClock);
  const unlessPaused = servicePause(hostClock);
  const tellLog = runLog(logger, hostClock, () => ({ next: lifecycle.daemon.state.nextRun }));
  const observers = [tellLog, metrics.observe];
  const singles = composeServing({
    config: () => accepted.current(),
    host,
    log,
    observe: (event) => lifecycle.daemon.observe(event),
    syncSoon: () => lifecycle.daemon.syncSoon(),
    isHolder: () => lifecycle.daemon.isHolder,
    holder: () => lifecycle.daemon.state.standby?.message,
  });
  const syncRoutes = syncRequests(
    { clock: hostClock, serveTenant: singles.serveTenant, log, onReply: metrics.observeReply },
    signal,
  );
  const lookUp = pageLookups(
    {
      explain: (id, stop) => explain(id, accepted.current(), { ...host, stop }),
      find: (text, stop) => find(text, accepted.current(), { ...host, stop }),
      clock: hostClock,
      log,
    },
    signal,
  );
  const shown = pages(
    () => lifecycle.daemon.state,
    metrics,
    lookUp,
    () => hostClock.now(),
  );
  const lifecycle: Lifecycle = new Lifecycle(
    version,
    settingsOf(accepted.current()),
    {
      openSync: async () => {
        // The daemon passes its own observer to each run.
        const { value, close } = await composeSync(accepted.current(), host, () => {}, recent);
        const { ports, settings } = value;
        const measured = measuredService(ports.service, hostClock, metrics.observeCall);
        return {
          ...value,
          ports: { ...ports, service: unlessPaused(measured, settings.baseUrl) },
          settings: {
            ...settings,
            lease: { ...settings.lease, handsOver: true },
            refresh: { ...settings.refresh, silence },
          },
          serving: await singles.serving(),
          close,
        };
      },
      readLedger: async () => readLedger(accepted.current(), host),
      reread: async () => {
        const { config, accept } = accepted.reread();
        if (ledgerOf(config) !== ledgerOf(accepted.current())) throw needsRestart();
        verifyTls(config);
        const unchecked = await whyUnchecked(config, host);
        return { settings: settingsOf(config), take: accept, unchecked };
      },
      routes: (key) => ({ ...shown, ...syncRoutes(key) }),
      timetable: cronTimetable,
      serving: singles.servingNow,
      clock: hostClock,
      observers: [...observers, singles.observe],
      log,
    },
    signal,
  );
  return lifecycle;
}

/** What the daemon takes from the config as it is. */
const configuredSettings = (
  { name, http, source, group, ...config }: Config,
  { env }: Host,
): Omit<LifecycleSettings, "configPath" | "notifier"> => ({
  name,
  feeds: feedsOf({ name, source, group, http }),
  schedule: {
    line: config.schedule,
    timezone: config.timezone,
    jitterMs: config.jitter,
    runAtStart: config.run_at_start,
  },
  shutdownTimeoutMs: config.shutdown_timeout,
  listen: http.listen ?? defaultListenAddress(env),
  allowedHosts: http.allowed_hosts ?? [],
  docsUrl: http.docs_url ?? null,
  ...(http.stale_after !== undefined && { staleAfterMs: http.stale_after }),
  ...(http.sync_key && { syncKey: http.sync_key }),
});

/** A reload with the same addresses repairs none of them, so the notifier has to remember which it didn't reach. */
function keptNotifier(log: Log, signal: AbortSignal): (notify: Config["notify"]) => Notifier {
  let kept: { readonly addresses: string; readonly notifier: Notifier } | undefined;
  return (notify) => {
    const addresses = JSON.stringify([notify.webhook?.reveal(), notify.heartbeat?.reveal()]);
    if (kept?.addresses !== addresses)
      kept = { addresses, notifier: httpNotifier(notify, hostClock, log, signal) };
    return kept.notifier;
  };
}

const readLedger = async (config: Config, host: Host): Promise<LedgerStatus> =>
  using(await composeLedgerView(config, host), (ledger) => ledgerStatus(ledger, config, hostClock.now()));

/** The error if nobody can tell whether the source has the columns. Rejects with CONFIG_… if it doesn't have them. */
async function whyUnchecked(config: Config, host: Host): Promise<SyncError | undefined> {
  try {
    await verifyColumns(config, host);
    return undefined;
  } catch (error) {
    if (error instanceof SyncError && !isConfigError(error)) return error;
    throw error;
  }
}

/** Looks at a tenant for a visitor of the status page. */
const explain = async (id: string, config: Config, host: Host): Promise<Explanation> =>
  using(await composePlan(config, host), (setup) =>
    explainTenant(id, { ...setup, indexedOnly: true }, host.stop),
  );

/** Finds tenants for a visitor of the status page. */
const find = async (text: string, config: Config, host: Host): Promise<readonly FoundTenant[]> =>
  using(await composeLedgerView(config, host), (ledger) => findTenants(text, ledger));

/** Identifies a ledger. The same database with a new password is the same ledger. */
function ledgerOf({ name, ledger: { url, schema, tablePrefix } }: Config): string {
  const { host, pathname } = new URL(url.url.reveal());
  return JSON.stringify([name, url.dialect, host, pathname, schema, tablePrefix]);
}

const needsRestart = (): SyncError =>
  new SyncError("CONFIG_NEEDS_RESTART", "the new config has another name or another ledger", {
    hint: "restart the daemon: it works with one name and one ledger from its start to its end",
  });
