import type { Way } from "../../core/changes/notice.ts";
import { asSyncError, type SyncError } from "../../core/failure/sync-error.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";

/** Whether one way works. Contains no secret. */
export type WayState =
  /** It is off: another instance holds the lease, or the daemon ends. */
  | { readonly kind: "off" }
  | { readonly kind: "starting"; readonly since: Date }
  | { readonly kind: "alive"; readonly since: Date; readonly warning?: WayError }
  | { readonly kind: "broken"; readonly since: Date; readonly error: WayError };

export interface WayError {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
}

const DOING: Readonly<Record<Way, string>> = {
  column: "asks for changed tenants by source.changes.column",
  channel: "listens for changed tenants on source.changes.channel",
};

/** Keeps the state of one way, and tells the log each change of it once. */
export class WayTracker {
  readonly #way: Way;
  readonly #clock: Clock;
  readonly #log: Log;
  #state: WayState = { kind: "off" };

  constructor(way: Way, clock: Clock, log: Log) {
    this.#way = way;
    this.#clock = clock;
    this.#log = log;
  }

  get state(): WayState {
    return this.#state;
  }

  starts(): void {
    this.#state = { kind: "starting", since: this.#clock.now() };
  }

  stops(): void {
    this.#state = { kind: "off" };
  }

  /** `warning`: what an operator should mend all the same. */
  works(warning: WayError | null = null): void {
    const before = this.#state;
    const since = before.kind === "alive" ? before.since : this.#clock.now();
    this.#state = { kind: "alive", since, ...(warning && { warning }) };
    if (before.kind !== "alive") {
      const again = before.kind === "broken" ? " again" : "";
      this.#log({ level: "info", message: `groupsync ${DOING[this.#way]}${again}` });
    }
    const told = before.kind === "alive" ? before.warning?.message : undefined;
    if (warning && warning.message !== told) this.#log({ level: "warn", ...warning });
  }

  /** `consequence` says what that means for tenants. */
  fails(thrown: unknown, consequence: string): void {
    const error = errorOf(asSyncError(thrown));
    const before = this.#state;
    const since = before.kind === "broken" ? before.since : this.#clock.now();
    this.#state = { kind: "broken", since, error };
    if (before.kind === "broken" && before.error.code === error.code) return;
    this.#log({ level: "warn", ...error, message: `${error.message}; ${consequence}` });
  }
}

const errorOf = ({ code, message, hint }: SyncError): WayError => ({
  code,
  message,
  ...(hint !== undefined && { hint }),
});
