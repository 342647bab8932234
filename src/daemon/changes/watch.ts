import type { Feed } from "../../core/changes/notice.ts";
import { waitBeforeReconnect } from "../../core/failure/backoff.ts";
import { asSyncError, withoutCause } from "../../core/failure/sync-error.ts";
import type { FeedState } from "../../core/report/scope-facts.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";

/** Watches for changes over a connection. Calls `onWorking` whenever the connection has shown to work; ends by a rejection. */
type Connection = (onWorking: () => void) => Promise<void>;

/** Keeps one connection that watches for changes: opens it again with backoff, and tells the log when that begins and ends. */
export class Watch {
  readonly #feed: Feed;
  readonly #clock: Clock;
  readonly #log: Log;
  #state: FeedState | null = null;
  #ended = Promise.resolve();

  constructor(feed: Feed, clock: Clock, log: Log) {
    this.#feed = feed;
    this.#clock = clock;
    this.#log = log;
  }

  /** Null before the first attempt and after the end. */
  get state(): FeedState | null {
    return this.#state;
  }

  /**
   * Watches until `stop` aborts, from the end of the last start on. Resolves once an attempt has worked or failed. Never
   * rejects.
   */
  start(connection: Connection, stop: AbortSignal): Promise<void> {
    return new Promise((attempted) => {
      this.#ended = this.#ended.then(() => this.#run(connection, attempted, stop));
    });
  }

  /** Resolves once no connection is open any more. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  async #run(connection: Connection, attempted: () => void, stop: AbortSignal): Promise<void> {
    let failures = 0;
    const onWorking = (): void => {
      failures = 0;
      this.#works();
      attempted();
    };
    while (!stop.aborted) {
      try {
        await connection(onWorking);
      } catch (error) {
        if (stop.aborted) break;
        failures++;
        this.#fails(error);
      }
      attempted();
      await this.#clock.sleep(
        waitBeforeReconnect(Math.max(1, failures), () => this.#clock.random()),
        stop,
      );
    }
    this.#state = null;
    attempted();
  }

  #works(): void {
    const before = this.#state;
    this.#state = { workedAt: this.#clock.now(), failure: null };
    if (before?.failure === null) return;
    const again = before ? " again" : "";
    this.#log({
      level: "info",
      message: `groupsync notices changed tenants by source.changes.${this.#feed}${again}`,
    });
  }

  #fails(thrown: unknown): void {
    const error = withoutCause(asSyncError(thrown));
    const { workedAt = null, failure: before = null } = this.#state ?? {};
    this.#state = { workedAt, failure: { since: before?.since ?? this.#clock.now(), ...error } };
    if (before?.code === error.code) return;
    const message = `${error.message}; until that is repaired, the next full sync finds what changes`;
    this.#log({ level: "warn", ...error, message });
  }
}
