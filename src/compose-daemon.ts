import { hostClock } from "./adapters/host/clock.ts";
import { readTextFile } from "./adapters/host/text-file.ts";
import { logTo } from "./adapters/log/entry-log.ts";
import { createLogger } from "./adapters/log/logger.ts";
import { runLog } from "./adapters/log/run-log.ts";
import { HttpNotifier } from "./adapters/notify/http-notifier.ts";
import { composeLedgerView, composeSync, type Host, warnOfReadable } from "./compose.ts";
import { AcceptedConfig } from "./config/accepted-config.ts";
import type { Config } from "./config/config.ts";
import { defaultListenAddress, type ListenAddress } from "./config/listen-address.ts";
import { SyncError } from "./core/errors.ts";
import type { LogLevel } from "./core/log-level.ts";
import { AskedPause } from "./daemon/asked-pause.ts";
import type { ListenAt } from "./daemon/http.ts";
import { readLedger } from "./daemon/ledger-snapshot.ts";
import { Lifecycle, type LifecycleSettings } from "./daemon/lifecycle.ts";
import { measuredService } from "./daemon/measured-service.ts";
import { Metrics } from "./daemon/metrics.ts";
import { pages } from "./daemon/pages.ts";
import { CronTimetable } from "./daemon/timetable.ts";
import { RecentCommits } from "./engine/recent-commits.ts";

interface DaemonOptions {
  readonly version: string;
  readonly logLevel: LogLevel;
  readonly signal: AbortSignal;
}

/** What `run` needs; throws CONFIG_… where the config is wrong. Nothing is contacted before it begins. */
export async function composeDaemon(
  path: string,
  host: Host,
  { version, logLevel, signal }: DaemonOptions,
): Promise<Lifecycle> {
  const logger = await createLogger(logLevel, host.terminal !== undefined);
  const log = logTo(logger);
  const accepted = new AcceptedConfig(
    path,
    { env: host.env, readFile: readTextFile },
    warnOfReadable(path, host, (warning) => log({ level: "warn", ...warning })),
  );
  const settings = ({
    name,
    schedule,
    http,
    shutdownTimeoutMs,
    notify,
    tokens,
    deletion,
  }: Config): LifecycleSettings => ({
    name,
    schedule,
    shutdownTimeoutMs,
    deletionLimit: deletion.limit,
    listen: listenAt(http.listen ?? defaultListenAddress(host.env), http.allowedHosts),
    ...(http.staleAfterMs !== undefined && { staleAfterMs: http.staleAfterMs }),
    ...verifyTokens(tokens),
    notifier: new HttpNotifier(notify, hostClock, log, signal),
  });
  const pause = new AskedPause(hostClock);
  const recent = new RecentCommits(hostClock);
  const metrics = new Metrics(() => lifecycle.state, hostClock);
  const tellLog = runLog(logger, hostClock, () => ({ next: lifecycle.state.nextRun }));
  const lifecycle = new Lifecycle(
    version,
    settings(accepted.current()),
    {
      openSync: async () => {
        // The daemon has the runs observed.
        const { value, close } = await composeSync(accepted.current(), host, () => {}, recent);
        const { ports, settings } = value;
        const measured = measuredService(ports.service, hostClock, metrics.observeCall);
        return {
          ...value,
          ports: { ...ports, service: pause.keptTo(measured, settings.baseUrl) },
          close,
        };
      },
      readLedger: async () => {
        const ledger = await composeLedgerView(accepted.current(), host);
        try {
          return await readLedger(ledger.value, hostClock.now());
        } finally {
          await ledger.close();
        }
      },
      reread: () => {
        const { config, take } = accepted.reread();
        if (ledgerOf(config) !== ledgerOf(accepted.current())) throw needsRestart();
        return { settings: settings(config), take };
      },
      pages: pages(
        () => lifecycle.state,
        metrics,
        () => hostClock.now(),
      ),
      timetable: (schedule, onTick) => new CronTimetable(schedule, onTick),
      clock: hostClock,
      observers: [tellLog, metrics.observe],
      log,
    },
    signal,
  );
  return lifecycle;
}

/** All stores are looked into together: as often as the one that asks for it most often. */
function verifyTokens(tokens: Config["tokens"]): Pick<LifecycleSettings, "verifyTokensMs"> {
  const periods = tokens.flatMap(({ verifyMs }) => verifyMs ?? []);
  return periods.length === 0 ? {} : { verifyTokensMs: Math.min(...periods) };
}

/** Tells ledgers apart; a new password for the same database makes no other. */
function ledgerOf({ name, ledger: { url, schema, tablePrefix } }: Config): string {
  const { host, pathname } = new URL(url.url.reveal());
  return JSON.stringify([name, url.dialect, host, pathname, schema, tablePrefix]);
}

const needsRestart = (): SyncError =>
  new SyncError("CONFIG_NEEDS_RESTART", "it has another name or another ledger", {
    hint: "restart the daemon: what it knows and shows is of the ledger that it began with",
  });

const listenAt = (address: ListenAddress, allowedHosts: readonly string[] = []): ListenAt | "off" =>
  address === "off" ? "off" : { ...address, allowedHosts };
