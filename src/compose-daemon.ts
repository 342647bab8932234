import { readFileSync } from "node:fs";
import { hostClock } from "./adapters/host/clock.ts";
import { logTo } from "./adapters/log/entry-log.ts";
import { createLogger, type LogLevel } from "./adapters/log/logger.ts";
import { runLog } from "./adapters/log/run-log.ts";
import { HttpNotifier } from "./adapters/notify/http-notifier.ts";
import { composeLedgerView, composeSync, type Host } from "./compose.ts";
import { AcceptedConfig } from "./config/accepted-config.ts";
import type { Config } from "./config/config.ts";
import { defaultListenAddress } from "./config/listen-address.ts";
import { SyncError } from "./core/errors.ts";
import { readLedger } from "./daemon/ledger-snapshot.ts";
import { Lifecycle, type LifecycleSettings } from "./daemon/lifecycle.ts";
import { measuredService } from "./daemon/measured-service.ts";
import { Metrics } from "./daemon/metrics.ts";
import { pages } from "./daemon/pages.ts";
import { CronTimetable } from "./daemon/timetable.ts";
import type { Observe } from "./ports/observer.ts";

interface DaemonOptions {
  readonly version: string;
  readonly logLevel: LogLevel;
  readonly signal: AbortSignal;
}

/** What `run` needs; throws CONFIG_… where the config is wrong. Nothing is contacted before it begins. */
export function composeDaemon(
  path: string,
  host: Host,
  { version, logLevel, signal }: DaemonOptions,
): Lifecycle {
  const accepted = new AcceptedConfig(path, {
    env: host.env,
    readFile: (file) => readFileSync(file, "utf8"),
  });
  const logger = createLogger(logLevel, host.terminal !== undefined);
  const log = logTo(logger);
  const settings = ({
    name,
    schedule,
    http,
    shutdownTimeoutMs,
    notify,
    tokens,
  }: Config): LifecycleSettings => ({
    name,
    schedule,
    shutdownTimeoutMs,
    listen: http.listen ?? defaultListenAddress(host.env),
    ...(http.staleAfterMs !== undefined && { staleAfterMs: http.staleAfterMs }),
    ...verifyTokens(tokens),
    notifier: new HttpNotifier(notify, hostClock, log, signal),
  });
  const metrics = new Metrics(() => lifecycle.state, hostClock);
  const tellLog = runLog(logger, hostClock, () => ({ next: lifecycle.state.nextRun }));
  const observe: Observe = (event) => {
    tellLog(event);
    metrics.observe(event);
  };
  const lifecycle = new Lifecycle(
    version,
    settings(accepted.current()),
    {
      openSync: async () => {
        const { value, close } = await composeSync(accepted.current(), host, observe);
        const { ports } = value;
        return {
          ...value,
          ports: { ...ports, service: measuredService(ports.service, hostClock, metrics.observeCall) },
          close,
        };
      },
      readLedger: async () => {
        const ledger = composeLedgerView(accepted.current());
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
      observe,
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
