import { SyncError } from "../../src/core/failure/sync-error.ts";
import type { ChangeChannel, ChangeFeed, ChangeReader, OpenChannel } from "../../src/ports/change-feed.ts";
import type { Clock } from "../../src/ports/clock.ts";
import { aColumn, type Version } from "./change-column.ts";

/** The change column of a table, by a virtual clock. */
export class FakeFeed implements ChangeFeed {
  readonly #clock: Clock;
  readonly versions: Version[] = [];
  /** What the readers were asked for, in this order. */
  readonly looks: ("newest" | "rows")[] = [];
  /** How many readers are open. */
  openNow = 0;
  opened = 0;
  /** What every call rejects with. */
  fails: Error | undefined;
  type = "timestamptz";
  missing: string | null = null;
  /** How long an answer takes, in milliseconds. */
  takes = 0;
  before: string | null | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get polls(): number {
    return this.looks.filter((look) => look === "newest").length;
  }

  /** Rows that are committed now. */
  insert(...ids: string[]): void {
    const now = this.#clock.monotonic();
    for (const id of ids) this.versions.push({ id, given: now, committed: now });
  }

  async open(stop: AbortSignal, before?: string | null): Promise<ChangeReader> {
    this.#failIfDue();
    this.before = before;
    this.opened++;
    this.openNow++;
    const column = aColumn(this.versions);
    const at = (): number => this.#clock.monotonic();
    let isOpen = true;
    return {
      type: this.type,
      newest: () => this.#look("newest", stop, () => column.newest(at())),
      rows: (from, limit) => this.#look("rows", stop, () => column.rows(from, at(), limit)),
      missingIndex: async () => this.missing,
      close: async () => {
        if (isOpen) this.openNow--;
        isOpen = false;
      },
    };
  }

  async #look<T>(what: "newest" | "rows", stop: AbortSignal, find: () => T): Promise<T> {
    this.looks.push(what);
    const found = find();
    await this.#clock.sleep(this.takes, stop);
    if (stop.aborted) throw new SyncError("INTERRUPTED", "told to stop");
    this.#failIfDue();
    return found;
  }

  #failIfDue(): void {
    if (this.fails) throw this.fails;
  }
}

/** A channel whose line the test has in its hands. */
export class FakeChannel implements ChangeChannel {
  opened = 0;
  openNow = 0;
  /** What an attempt to open rejects with. */
  fails: Error | undefined;
  /** Whether notifications arrive. */
  isDeaf = false;
  probes = 0;
  #onPayload: ((payload: string) => void) | undefined;
  #lose: ((error: SyncError) => void) | undefined;

  async open(onPayload: (payload: string) => void): Promise<OpenChannel> {
    if (this.fails) throw this.fails;
    this.opened++;
    await this.#probe();
    this.openNow++;
    this.#onPayload = onPayload;
    let isOpen = true;
    return {
      lost: new Promise((resolve) => {
        this.#lose = resolve;
      }),
      probe: () => this.#probe(),
      close: async () => {
        if (isOpen) this.openNow--;
        isOpen = false;
      },
    };
  }

  async #probe(): Promise<void> {
    this.probes++;
    if (this.isDeaf)
      throw new SyncError("CHANGES_NOT_HEARD", "no notification arrives on source.changes.channel", {
        hint: "write another url in source.changes.url",
      });
  }

  notify(payload: string): void {
    this.#onPayload?.(payload);
  }

  cut(): void {
    this.#lose?.(new SyncError("SOURCE_UNAVAILABLE", "the line was cut"));
  }
}
