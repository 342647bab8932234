import { ANYTHING, type Notice } from "../../core/changes/notice.ts";
import type { ChangeChannel, ChangeFeed } from "../../ports/change-feed.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { listen } from "./listener.ts";
import { Poller } from "./poller.ts";
import { type Connection, Watch, type WatchState } from "./watch.ts";

/** What the config names: at least one. */
export interface NoticingWays {
  readonly column?: { readonly feed: ChangeFeed; readonly everyMs: number };
  readonly channel?: ChangeChannel;
}

export interface NoticingPorts {
  readonly clock: Clock;
  readonly log: Log;
  /** Called from the loops: it must not throw, and not take long. */
  readonly onNotice: (notice: Notice) => void;
}

/** Each is undefined if the config doesn't name it, and null while it is off: another instance holds the lease, or it starts. */
export interface NoticingState {
  readonly column?: WatchState | null;
  readonly channel?: WatchState | null;
}

interface Running {
  readonly stop: AbortController;
  readonly ready: Promise<void>;
  readonly ended: Promise<unknown>;
}

/** How long `start` waits for the first attempts, in milliseconds. */
const FIRST_ATTEMPTS = 5_000;

/** Notices changed tenants while this instance holds the lease. Can be started and stopped again and again. */
export class Noticing {
  readonly #ways: NoticingWays;
  readonly #ports: NoticingPorts;
  readonly #poller: Poller | undefined;
  readonly #column: Watch;
  readonly #channel: Watch;
  #running: Running | undefined;
  /** Whether somebody has tried to listen: before that nothing can be lost. */
  #hasListened = false;

  constructor(ways: NoticingWays, ports: NoticingPorts) {
    const { clock, log } = ports;
    this.#ways = ways;
    this.#ports = ports;
    this.#poller = ways.column && new Poller({ ...ways.column, clock, log });
    this.#column = new Watch("column", clock, log);
    this.#channel = new Watch("channel", clock, log);
  }

  get state(): NoticingState {
    const { column, channel } = this.#ways;
    return {
      ...(column && { column: this.#column.state }),
      ...(channel && { channel: this.#channel.state }),
    };
  }

  /** The newest value of the change column: lower values are not noticed. Null if none is known. */
  get newestChange(): string | null {
    return this.#poller?.newest ?? null;
  }

  /**
   * Resolves once each way works, or has failed for the first time, or keeps everybody waiting. If a full sync begins after
   * that, no change between its snapshot and the first notice is lost. `before` is the table that the last run read.
   */
  start(before?: string | null): Promise<void> {
    if (this.#running && !this.#running.stop.signal.aborted) return this.#running.ready;
    const stop = new AbortController();
    const former = this.#running?.ended;
    let isReady = false;
    const loops: Promise<void>[] = [];
    const begin = (watch: Watch, connection: Connection): Promise<void> =>
      new Promise((attempted) => {
        loops.push(Promise.resolve(former).then(() => watch.run(connection, attempted, stop.signal)));
      });
    const attempts = [
      this.#poller &&
        begin(
          this.#column,
          this.#polling(this.#poller, before, () => isReady, stop.signal),
        ),
      this.#ways.channel &&
        begin(
          this.#channel,
          this.#listening(this.#ways.channel, () => isReady, stop.signal),
        ),
    ];
    const ready = this.#untilAttempted(Promise.all(attempts)).then(() => {
      isReady = true;
    });
    this.#running = { stop, ready, ended: Promise.all(loops) };
    return ready;
  }

  /** Call this after each full sync. */
  syncEnded(): void {
    this.#poller?.syncEnded();
  }

  /** Resolves once no connection is open any more. */
  async stop(): Promise<void> {
    this.#running?.stop.abort();
    await this.#running?.ended;
  }

  /** Resolves after the first attempts, or after a few seconds. */
  async #untilAttempted(attempts: Promise<unknown>): Promise<void> {
    const timer = new AbortController();
    await Promise.race([attempts, this.#ports.clock.sleep(FIRST_ATTEMPTS, timer.signal)]);
    timer.abort();
  }

  #polling(
    poller: Poller,
    before: string | null | undefined,
    isReady: () => boolean,
    stop: AbortSignal,
  ): Connection {
    const onNews = (notices: readonly Notice[], isFirst: boolean): void => {
      // The rows of the first lookup are no news to a full sync that begins later. One that has begun may lack them.
      if (!isFirst || isReady()) for (const notice of notices) this.#ports.onNotice(notice);
    };
    return (works) => poller.poll({ before, onNews, works, stop });
  }

  #listening(channel: ChangeChannel, isReady: () => boolean, stop: AbortSignal): Connection {
    const { clock, onNotice } = this.#ports;
    const onTenant = (user_group_id: string): void =>
      onNotice({ kind: "tenant", user_group_id, way: "channel" });
    const onAnything = (): void => this.#lookUpNow();
    return (works) => {
      const isFirst = !this.#hasListened;
      this.#hasListened = true;
      const listens = (): void => {
        works();
        // What was notified while nobody listened is lost, unless a full sync begins later.
        if (!isFirst || isReady()) onAnything();
      };
      return listen({ channel, clock, onTenant, onAnything, works: listens, stop });
    };
  }

  /** A database that is away is asked when it is back. A column that can't be asked leaves it to a full sync. */
  #lookUpNow(): void {
    const isWrong = this.#column.state?.error?.code.startsWith("CONFIG_") === true;
    if (this.#poller && !isWrong) this.#poller.lookUpNow();
    else this.#ports.onNotice(ANYTHING);
  }
}
