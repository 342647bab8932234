import type { Feed } from "../../core/changes/notice.ts";
import { waitBeforeReconnect } from "../../core/failure/backoff.ts";
import { asSyncError, withoutCause } from "../../core/failure/sync-error.ts";
import type { FeedState } from "../../core/report/scope-facts.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";

/** Watches for changes over a connection. Calls `onWorking` whenever the connection has shown to work; ends by a rejection. */
type Connection = (onWorking: () => void) => Promise<void>;

export type Watch = ReturnType<typeof watch>;

/** Keeps one connection that watches for changes: opens it again with backoff, and tells the log when that begins and ends. */
export function watch(feed: Feed, clock: Clock, log: Log) {
  let state: FeedState | null = null;
  let ended = Promise.resolve();

  const works = (): void => {
    const before = state;
    state = { workedAt: clock.now(), failure: null };
    if (before?.failure === null) return;
    const again = before ? " again" : "";
    log({ level: "info", message: `groupsync notices changed tenants by source.changes.${feed}${again}` });
  };

  const fails = (thrown: unknown): void => {
    const error = withoutCause(asSyncError(thrown));
    const { workedAt = null, failure: before = null } = state ?? {};
    state = { workedAt, failure: { since: before?.since ?? clock.now(), ...error } };
    if (before?.code === error.code) return;
    const message = `${error.message}; until that is repaired, the next full sync finds what changes`;
    log({ level: "warn", ...error, message });
  };

  const run = async (connection: Connection, attempted: () => void, stop: AbortSignal): Promise<void> => {
    let failures = 0;
    const onWorking = (): void => {
      failures = 0;
      works();
      attempted();
    };
    while (!stop.aborted) {
      try {
        await connection(onWorking);
      } catch (error) {
        if (stop.aborted) break;
        failures++;
        fails(error);
      }
      attempted();
      await clock.sleep(
        waitBeforeReconnect(Math.max(1, failures), () => clock.random()),
        stop,
      );
    }
    state = null;
    attempted();
  };

  return {
    /** Null before the first attempt and after the end. */
    get state(): FeedState | null {
      return state;
    },

    /** Resolves once no connection is open any more. */
    get ended(): Promise<void> {
      return ended;
    },

    /**
     * Watches until `stop` aborts, from the end of the last start on. Resolves once an attempt has worked or failed. Never
     * rejects.
     */
    start: (connection: Connection, stop: AbortSignal): Promise<void> =>
      new Promise((attempted) => {
        ended = ended.then(() => run(connection, attempted, stop));
      }),
  };
}
