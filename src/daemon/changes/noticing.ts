import { ANYTHING, type Notice } from "../../core/changes/notice.ts";
import { isConfigError } from "../../core/report/exit-code.ts";
import type { ServingFacts } from "../../core/report/scope-facts.ts";
import type { ChangeChannel, ChangeFeed } from "../../ports/change-feed.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { listen } from "./listener.ts";
import { Poller } from "./poller.ts";
import { type Watch, watch } from "./watch.ts";

/** What the config names: at least one. */
export interface NoticingFeeds {
  readonly column?: { readonly feed: ChangeFeed; readonly everyMs: number };
  readonly channel?: ChangeChannel;
}

export interface NoticingPorts {
  readonly clock: Clock;
  readonly log: Log;
  /** Called from the loops: it must not throw, and not take long. */
  readonly onNotice: (notice: Notice) => void;
}

/** What one `start` began. */
interface Running {
  readonly stop: AbortController;
  /** Earlier notices are no news: the full sync begins later. */
  readonly ready: Promise<void>;
}

/** How long `start` waits for the first attempts, in milliseconds. */
const FIRST_ATTEMPTS = 5_000;

/** Notices changed tenants while this instance holds the lease. Can be started and stopped again and again. */
export class Noticing {
  readonly #feeds: NoticingFeeds;
  readonly #ports: NoticingPorts;
  readonly #poller: Poller | undefined;
  readonly #column: Watch;
  readonly #channel: Watch;
  #running: Running | undefined;

  constructor(feeds: NoticingFeeds, ports: NoticingPorts) {
    const { clock, log } = ports;
    this.#feeds = feeds;
    this.#ports = ports;
    this.#poller = feeds.column && new Poller({ ...feeds.column, clock, log });
    this.#column = watch("column", clock, log);
    this.#channel = watch("channel", clock, log);
  }

  get state(): ServingFacts["feeds"] {
    const { column, channel } = this.#feeds;
    return {
      ...(column && { column: this.#column.state }),
      ...(channel && { channel: this.#channel.state }),
    };
  }

  /**
   * Resolves once each feed works, or has failed for the first time, or keeps everybody waiting. If a full sync begins after
   * that, no change between its snapshot and the first notice is lost. `before` is the table that the last run read.
   */
  start(before?: string | null): Promise<void> {
    if (this.#running && !this.#running.stop.signal.aborted) return this.#running.ready;
    const stop = new AbortController();
    let isReady = false;
    const onNotice = (notice: Notice): void => {
      if (isReady) this.#ports.onNotice(notice);
    };
    const ready = this.#untilAttempted(before, onNotice, stop.signal).then(() => {
      isReady = true;
    });
    this.#running = { stop, ready };
    return ready;
  }

  /** Call this after each full sync. */
  syncEnded(): void {
    this.#poller?.syncEnded();
  }

  /** Resolves once no connection is open any more. */
  async stop(): Promise<void> {
    this.#running?.stop.abort();
    await Promise.all([this.#column.ended, this.#channel.ended]);
  }

  /** Resolves after the first attempt of each feed, or after a few seconds. */
  async #untilAttempted(
    before: string | null | undefined,
    onNotice: NoticingPorts["onNotice"],
    stop: AbortSignal,
  ): Promise<void> {
    const { clock } = this.#ports;
    const { channel } = this.#feeds;
    const poller = this.#poller;
    const onTenant = (user_group_id: string): void =>
      onNotice({ kind: "tenant", user_group_id, feed: "channel" });
    // A database that is away is asked when it is back. A column that can't be asked leaves it to a full sync.
    const onAnything = (): void => {
      const failure = this.#column.state?.failure;
      if (poller && !(failure && isConfigError(failure))) poller.lookUpNow();
      else onNotice(ANYTHING);
    };
    const attempts = Promise.all([
      poller && this.#column.start((onWorking) => poller.poll({ before, onNotice, onWorking, stop }), stop),
      channel &&
        this.#channel.start(
          (onWorking) => listen({ channel, clock, onTenant, onAnything, onWorking, stop }),
          stop,
        ),
    ]);
    const timer = new AbortController();
    await Promise.race([attempts, clock.sleep(FIRST_ATTEMPTS, timer.signal)]);
    timer.abort();
  }
}
