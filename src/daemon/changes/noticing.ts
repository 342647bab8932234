import { ANYTHING, type Notice } from "../../core/changes/notice.ts";
import type { ChangeChannel, ChangeFeed } from "../../ports/change-feed.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { Beginning } from "./beginning.ts";
import { Listener } from "./listener.ts";
import { Poller } from "./poller.ts";
import type { WayState } from "./way-state.ts";

/** The ways that the config names: at least one. */
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

/** The state of each way; null if the config doesn't have it. */
export interface NoticingState {
  readonly column: WayState | null;
  readonly channel: WayState | null;
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
  readonly #clock: Clock;
  readonly #poller: Poller | undefined;
  readonly #listener: Listener | undefined;
  #running: Running | undefined;

  constructor({ column, channel }: NoticingWays, { clock, log, onNotice }: NoticingPorts) {
    this.#clock = clock;
    this.#poller = column && new Poller(column.everyMs, { feed: column.feed, clock, log, onNotice });
    const lookNow = (): void => {
      if (this.#poller?.canLook) this.#poller.lookNow();
      else onNotice(ANYTHING);
    };
    this.#listener = channel && new Listener({ channel, clock, log, onNotice, lookNow });
  }

  get state(): NoticingState {
    return { column: this.#poller?.state ?? null, channel: this.#listener?.state ?? null };
  }

  /**
   * Resolves once each way works, or has failed for the first time, or keeps everybody waiting. If a full sync begins after
   * that, no change between its snapshot and the first notice is lost. `before` is the table that the last run read.
   */
  start(before?: string | null): Promise<void> {
    if (this.#running && !this.#running.stop.signal.aborted) return this.#running.ready;
    const stop = new AbortController();
    const beginning = new Beginning();
    const former = this.#running?.ended;
    const loops = [
      this.#poller?.run({ stop: stop.signal, beginning, after: former, before }),
      this.#listener?.run({ stop: stop.signal, beginning, after: former }),
    ];
    const ready = beginning.over(FIRST_ATTEMPTS, this.#clock);
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
}
