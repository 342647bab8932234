import { ANYTHING, type Feed, type Notice } from "../../core/changes/notice.ts";
import { waitBeforeReconnect } from "../../core/failure/backoff.ts";
import { asSyncError, type Failure } from "../../core/failure/sync-error.ts";
import { MAX_ID_BYTES } from "../../core/group/tenant.ts";
import { WakeableSleep } from "../../engine/serving/wakeable-sleep.ts";
import type { ChangeChannel, ChangeFeed } from "../../ports/change-feed.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { Poller } from "./poller.ts";

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

/** Whether changed tenants are noticed by a column or a channel. Contains no secret. */
export interface WatchState {
  /** Since when it works, or has been failing. */
  readonly since: Date;
  /** Why it doesn't work; null if it does. */
  readonly error: WatchError | null;
}

export interface WatchError extends Failure {
  readonly hint?: string;
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
  readonly #feeds: NoticingFeeds;
  readonly #ports: NoticingPorts;
  readonly #poller: Poller | undefined;
  readonly #column: Watch;
  readonly #channel: Watch;
  #running: Running | undefined;
  /** Until then, notices are no news: a full sync begins later. */
  #isReady = false;

  constructor(feeds: NoticingFeeds, ports: NoticingPorts) {
    const { clock, log } = ports;
    this.#feeds = feeds;
    this.#ports = ports;
    this.#poller = feeds.column && new Poller({ ...feeds.column, clock, log });
    this.#column = new Watch("column", clock, log);
    this.#channel = new Watch("channel", clock, log);
  }

  get state(): NoticingState {
    const { column, channel } = this.#feeds;
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
   * Resolves once each feed works, or has failed for the first time, or keeps everybody waiting. If a full sync begins after
   * that, no change between its snapshot and the first notice is lost. `before` is the table that the last run read.
   */
  start(before?: string | null): Promise<void> {
    if (this.#running && !this.#running.stop.signal.aborted) return this.#running.ready;
    const stop = new AbortController();
    const former = this.#running?.ended;
    const poller = this.#poller;
    const { channel } = this.#feeds;
    this.#isReady = false;
    const loops: Promise<void>[] = [];
    const begin = (watch: Watch, connection: Connection): Promise<void> =>
      new Promise((attempted) => {
        loops.push(Promise.resolve(former).then(() => watch.run(connection, attempted, stop.signal)));
      });
    const attempts = [
      poller && begin(this.#column, (works) => this.#poll(poller, before, works, stop.signal)),
      channel && begin(this.#channel, (works) => this.#listen(channel, works, stop.signal)),
    ];
    const ready = this.#untilAttempted(Promise.all(attempts)).then(() => {
      this.#isReady = true;
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

  #poll(poller: Poller, before: string | null | undefined, works: () => void, stop: AbortSignal) {
    const onNews = (notices: readonly Notice[]): void => {
      for (const notice of notices) this.#notice(notice);
    };
    return poller.poll({ before, onNews, works, stop });
  }

  #listen(channel: ChangeChannel, works: () => void, stop: AbortSignal): Promise<void> {
    const onTenant = (user_group_id: string): void =>
      this.#notice({ kind: "tenant", user_group_id, feed: "channel" });
    const onAnything = (): void => this.#lookUpNow();
    const listens = (): void => {
      works();
      // What was notified while nobody listened is lost.
      onAnything();
    };
    return listen({ channel, clock: this.#ports.clock, onTenant, onAnything, works: listens, stop });
  }

  #notice(notice: Notice): void {
    if (this.#isReady) this.#ports.onNotice(notice);
  }

  /** A database that is away is asked when it is back. A column that can't be asked leaves it to a full sync. */
  #lookUpNow(): void {
    const isWrong = this.#column.state?.error?.code.startsWith("CONFIG_") === true;
    if (this.#poller && !isWrong) this.#poller.lookUpNow();
    else this.#notice(ANYTHING);
  }
}

interface Texts {
  readonly works: string;
  readonly consequence: string;
}

const TEXTS: Readonly<Record<Feed, Texts>> = {
  column: {
    works: "groupsync asks for changed tenants by source.changes.column",
    consequence: "until that is repaired, the next full sync finds what changes",
  },
  channel: {
    works: "groupsync listens for changed tenants on source.changes.channel",
    consequence: "until that is repaired, no notification arrives, and the next full sync finds what changes",
  },
};

/** Watches for changes over a connection. Calls `works` whenever the connection has shown to work; ends by a rejection. */
type Connection = (works: () => void) => Promise<void>;

/** Keeps one connection that watches for changes: opens it again with backoff, and tells the log when that begins and ends. */
class Watch {
  readonly #texts: Texts;
  readonly #clock: Clock;
  readonly #log: Log;
  #state: WatchState | null = null;

  constructor(feed: Feed, clock: Clock, log: Log) {
    this.#texts = TEXTS[feed];
    this.#clock = clock;
    this.#log = log;
  }

  /** Null before the first attempt and after the end. */
  get state(): WatchState | null {
    return this.#state;
  }

  /** Watches until `stop` aborts. `attempted` is called whenever an attempt has worked or failed. Never rejects. */
  async run(connection: Connection, attempted: () => void, stop: AbortSignal): Promise<void> {
    let failures = 0;
    const works = (): void => {
      failures = 0;
      this.#works();
      attempted();
    };
    while (!stop.aborted) {
      try {
        await connection(works);
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
    if (before?.error === null) return;
    this.#state = { since: this.#clock.now(), error: null };
    this.#log({ level: "info", message: `${this.#texts.works}${before ? " again" : ""}` });
  }

  #fails(thrown: unknown): void {
    const { code, message, hint } = asSyncError(thrown);
    const error = { code, message, ...(hint !== undefined && { hint }) };
    const before = this.#state;
    this.#state = { since: before?.error ? before.since : this.#clock.now(), error };
    if (before?.error?.code === code) return;
    this.#log({ level: "warn", ...error, message: `${message}; ${this.#texts.consequence}` });
  }
}

interface Listening {
  readonly channel: ChangeChannel;
  readonly clock: Clock;
  readonly onTenant: (user_group_id: string) => void;
  /** Something changed, and the payload doesn't say what. */
  readonly onAnything: () => void;
  readonly works: () => void;
  readonly stop: AbortSignal;
}

/** How often the connection is tried, in milliseconds: one that has fallen silent gives no sign of it. */
const PROBE_EVERY = 20_000;

/** Listens over one connection until `stop` aborts. Rejects as `ChangeChannel` does, and once the connection is lost. */
async function listen({ channel, clock, onTenant, onAnything, works, stop }: Listening): Promise<void> {
  const receive = (payload: string): void => {
    if (payload === "" || Buffer.byteLength(payload) > MAX_ID_BYTES) onAnything();
    else onTenant(payload);
  };
  const open = await channel.open(receive, stop);
  try {
    works();
    const pause = new WakeableSleep(clock);
    let lost: Error | undefined;
    void open.lost.then((why) => {
      lost = why;
      pause.wake();
    });
    while (!stop.aborted) {
      await pause.sleep(PROBE_EVERY, stop);
      if (lost) throw lost;
      if (!stop.aborted) await open.probe();
    }
  } finally {
    await open.close();
  }
}
