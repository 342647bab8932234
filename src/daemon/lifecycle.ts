import { isDeepStrictEqual } from "node:util";
import { asSyncError, SyncError, withoutCause } from "../core/failure/sync-error.ts";
import type { Secret } from "../core/secret/secret.ts";
import { durationText } from "../core/text/quantity.ts";
import { Daemon, type DaemonPorts, type DaemonSettings } from "./daemon.ts";
import { type HttpServer, type ListenAt, serve } from "./http/http-server.ts";
import type { Routes } from "./http/routes.ts";

export interface LifecycleSettings extends DaemonSettings {
  readonly listen: ListenAt | "off";
  /** Host names to allow in requests, in addition to that of `listen`, localhost and IP addresses. */
  readonly allowedHosts: readonly string[];
  /** The key of `POST /sync/{user_group_id}`, which there is not without it. */
  readonly syncKey?: Secret;
  /** The longest time between the signal to stop and the end of the process. */
  readonly shutdownTimeoutMs: number;
}

interface LifecyclePorts extends DaemonPorts {
  /** Reads the config again, and looks whether its columns are there. Rejects with CONFIG_… if it is wrong. */
  readonly reread: () => Promise<RereadSettings>;
  /** What the HTTP server has, with this `http.sync_key`. */
  readonly routes: (syncKey: Secret | undefined) => Routes;
}

interface RereadSettings {
  readonly settings: LifecycleSettings;
  /** Why nobody can tell whether the columns are there. A source that is away is no reason to refuse the config. */
  readonly unchecked: SyncError | undefined;
  /** Makes the next syncs use this config. Until then they use the one before. */
  readonly take: () => void;
}

/** Starts a daemon with its HTTP server, reads its config again when told to, and ends both in time. */
export class Lifecycle {
  readonly daemon: Daemon;
  readonly #ports: LifecyclePorts;
  readonly #signal: AbortSignal;
  #settings: LifecycleSettings;
  #server: HttpServer | undefined;
  #reloaded = Promise.resolve();

  constructor(version: string, settings: LifecycleSettings, ports: LifecyclePorts, signal: AbortSignal) {
    this.#ports = ports;
    this.#settings = settings;
    this.#signal = signal;
    this.daemon = new Daemon(version, settings, ports, signal);
  }

  /** Rejects with HTTP_ADDRESS if it can't listen. Then nothing has begun. */
  async begin(): Promise<void> {
    await this.#listen();
    this.daemon.begin();
    const { version, name, schedule, timezone, nextRun } = this.daemon.state;
    const next = nextRun ? `, next at ${nextRun.toISOString()}` : "";
    this.#ports.log({
      level: "info",
      message: `groupsync ${version} syncs ${name} on "${schedule}" ${timezone}${next}`,
    });
  }

  /** Reads the config again. If it is wrong, shows and tells the error, and keeps the old config. Never rejects. */
  reload(): Promise<void> {
    this.#reloaded = this.#reloaded.then(() => this.#reload());
    return this.#reloaded;
  }

  async #reload(): Promise<void> {
    if (this.#signal.aborted) return;
    const { log, reread } = this.#ports;
    try {
      const { settings, take, unchecked } = await reread();
      if (this.#signal.aborted) return;
      if (!isDeepStrictEqual(settings.listen, this.#settings.listen)) throw needsRestart();
      if (unchecked) {
        const message = `the columns of the new config could not be checked: ${unchecked.message}`;
        log({ level: "warn", ...withoutCause(unchecked), message });
      }
      take();
      this.#settings = settings;
      this.daemon.reconfigure(settings);
      log({ level: "info", message: "the config was read again; the next sync uses it" });
    } catch (error) {
      const failure = withoutCause(asSyncError(error));
      const message = `the new config was rejected, and the old one stays in force: ${failure.message}`;
      log({ level: "error", ...failure, message });
      this.daemon.configRejected(failure);
    }
  }

  /** Call this after the signal to stop. Resolves to false if work under way did not end in time. */
  async end(): Promise<boolean> {
    const { clock, log } = this.#ports;
    const { shutdownTimeoutMs } = this.#settings;
    log({ level: "info", message: "stopping: no new call starts; calls under way finish" });
    const timer = new AbortController();
    const hasEnded = await Promise.race([
      Promise.all([this.daemon.ended(), this.#reloaded]).then(() => true),
      clock.sleep(shutdownTimeoutMs, timer.signal).then(() => false),
    ]);
    timer.abort();
    await this.#server?.close();
    if (hasEnded) log({ level: "info", message: "stopped" });
    else
      log({
        level: "error",
        code: "SHUTDOWN_TIMEOUT",
        message: `work did not end within ${durationText(shutdownTimeoutMs)} of the signal to stop: the next start settles what is under way`,
        hint: "do the database and the token store answer? If they do, raise shutdown_timeout above service.timeout, and what your container runtime waits for above both",
      });
    return hasEnded;
  }

  async #listen(): Promise<void> {
    const { listen } = this.#settings;
    if (listen === "off") return;
    this.#server = await serve(
      listen,
      () => this.#ports.routes(this.#settings.syncKey),
      () => this.#settings.allowedHosts,
    );
    this.#ports.log({ level: "info", message: `status page, probes and metrics on ${this.#server.url}` });
  }
}

const needsRestart = (): SyncError =>
  new SyncError("CONFIG_NEEDS_RESTART", "the new config has another http.listen", {
    hint: "restart the daemon: it listens at one address from its start to its end",
  });
