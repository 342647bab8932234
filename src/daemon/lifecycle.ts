import { isDeepStrictEqual } from "node:util";
import { asSyncError } from "../core/errors.ts";
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
  /** Reads the config again. Throws CONFIG_… where it is wrong. */
  readonly reread: () => RereadSettings;
  readonly pages: Pages;
}

export interface RereadSettings {
  readonly settings: LifecycleSettings;
  /** Has the syncs go by this config too; until then the one before is in force. */
  readonly take: () => void;
}

/** A daemon with what is around it: its HTTP server, its config where it is read again, its end. */
export class Lifecycle {
  readonly #ports: LifecyclePorts;
  readonly #daemon: Daemon;
  readonly #signal: AbortSignal;
  #settings: LifecycleSettings;
  #server: HttpServer | undefined;
  #reloaded = Promise.resolve();

  constructor(version: string, settings: LifecycleSettings, ports: LifecyclePorts, signal: AbortSignal) {
    this.#ports = ports;
    this.#settings = settings;
    this.#signal = signal;
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

  /** Never rejects: what can't be taken is logged, and all goes on as before. One after the other. */
  reload(): Promise<void> {
    this.#reloaded = this.#reloaded.then(() => this.#reload());
    return this.#reloaded;
  }

  async #reload(): Promise<void> {
    if (this.#signal.aborted) return;
    const { log, reread } = this.#ports;
    try {
      const { settings, take } = reread();
      await this.#moveTo(settings.listen);
      take();
      this.#settings = settings;
      this.#daemon.reconfigure(settings);
      log({ level: "info", message: "the config was read again; the next sync goes by it" });
    } catch (error) {
      const { code, message, hint } = asSyncError(error);
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
      Promise.all([this.#daemon.ended(), this.#reloaded]).then(() => true),
      clock.sleep(shutdownTimeoutMs, timer.signal).then(() => false),
    ]);
    timer.abort();
    await this.#server?.close();
    if (!hasEnded)
      log({
        level: "error",
        code: "SHUTDOWN_TIMEOUT",
        message: `what was under way has not ended after ${durationText(shutdownTimeoutMs)}: the next start settles it`,
        hint: "do the database and the token store answer? If they do, raise shutdown_timeout above service.timeout, and what your container runtime waits for above both",
      });
    return hasEnded;
  }

  async #moveTo(listen: LifecycleSettings["listen"]): Promise<void> {
    const { listen: before } = this.#settings;
    if (isDeepStrictEqual(listen, before)) return;
    const former = this.#server;
    if (!haveOnePort(listen, before)) {
      this.#server = await this.#listen(listen);
      await former?.close();
      return;
    }
    // It can't be had a second time, be it for all addresses of this machine or for one.
    this.#server = undefined;
    await former?.close();
    try {
      this.#server = await this.#listen(listen);
    } catch (error) {
      this.#server = await this.#listen(before);
      throw error;
    }
  }

  async #listen(listen: LifecycleSettings["listen"]): Promise<HttpServer | undefined> {
    if (listen === "off") return undefined;
    const server = await serve(listen, this.#ports.pages);
    this.#ports.log({ level: "info", message: `status page, probes and metrics on ${server.url}` });
    return server;
  }
}

const haveOnePort = (one: LifecycleSettings["listen"], other: LifecycleSettings["listen"]): boolean =>
  one !== "off" && other !== "off" && one.port === other.port;
