import { SyncError } from "../core/errors.ts";
import { durationText } from "../core/progress.ts";
import { Daemon, type DaemonPorts, type DaemonSettings } from "./daemon.ts";
import { type HttpServer, type ListenAt, type Pages, serve } from "./http.ts";
import type { DaemonState } from "./state.ts";

export interface LifecycleSettings extends DaemonSettings {
  readonly listen: ListenAt | "off";
  /** From the signal to the end. */
  readonly shutdownTimeoutMs: number;
}

export interface LifecyclePorts extends DaemonPorts {
  /** Reads the config again. Throws CONFIG_… where it is wrong; the one before stays in force then. */
  readonly reread: () => LifecycleSettings;
  readonly pages: Pages;
}

/** A daemon with what is around it: its HTTP server, its config where it is read again, its end. */
export class Lifecycle {
  readonly #ports: LifecyclePorts;
  readonly #daemon: Daemon;
  #settings: LifecycleSettings;
  #server: HttpServer | undefined;

  constructor(version: string, settings: LifecycleSettings, ports: LifecyclePorts, signal: AbortSignal) {
    this.#ports = ports;
    this.#settings = settings;
    this.#daemon = new Daemon(version, settings, ports, signal);
  }

  get state(): DaemonState {
    return this.#daemon.state;
  }

  /** Rejects with HTTP_ADDRESS where it can't listen; nothing has begun then. */
  async begin(): Promise<void> {
    this.#server = await this.#listen(this.#settings.listen);
    this.#daemon.begin();
    const { version, name, schedule, timezone, nextRun } = this.state;
    const next = nextRun ? `, next at ${nextRun.toISOString()}` : "";
    this.#ports.log({
      level: "info",
      message: `groupsync ${version} syncs ${name} on "${schedule}" ${timezone}${next}`,
    });
  }

  /** Never rejects: what can't be taken is logged, and all goes on as before. */
  async reload(): Promise<void> {
    const { log, reread } = this.#ports;
    try {
      const settings = reread();
      await this.#moveTo(settings.listen);
      this.#settings = settings;
      this.#daemon.reconfigure(settings);
      log({ level: "info", message: "the config was read again; the next sync goes by it" });
    } catch (error) {
      if (!(error instanceof SyncError)) throw error;
      const { code, message, hint } = error;
      log({
        level: "error",
        code,
        message: `the config was not taken, and the one before stays: ${message}`,
        ...(hint !== undefined && { hint }),
      });
    }
  }

  /** After the signal: resolves to whether all that was under way has ended in time. */
  async end(): Promise<boolean> {
    const { clock, log } = this.#ports;
    const { shutdownTimeoutMs } = this.#settings;
    log({ level: "info", message: "told to stop: no new call starts, those under way finish" });
    const timer = new AbortController();
    const hasEnded = await Promise.race([
      this.#daemon.ended().then(() => true),
      clock.sleep(shutdownTimeoutMs, timer.signal).then(() => false),
    ]);
    timer.abort();
    await this.#server?.close();
    if (!hasEnded)
      log({
        level: "error",
        code: "SHUTDOWN_TIMEOUT",
        message: `calls are still under way after ${durationText(shutdownTimeoutMs)}: the next start settles them`,
        hint: "raise shutdown_timeout above service.timeout, and what your container runtime waits for above both",
      });
    return hasEnded;
  }

  async #moveTo(listen: LifecycleSettings["listen"]): Promise<void> {
    if (JSON.stringify(listen) === JSON.stringify(this.#settings.listen)) return;
    const before = this.#server;
    this.#server = await this.#listen(listen);
    await before?.close();
  }

  async #listen(listen: LifecycleSettings["listen"]): Promise<HttpServer | undefined> {
    if (listen === "off") return undefined;
    const server = await serve(listen, this.#ports.pages);
    this.#ports.log({ level: "info", message: `status page, probes and metrics on ${server.url}` });
    return server;
  }
}
