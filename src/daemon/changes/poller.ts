import { CHANGES_NOT_INDEXED, type Notice } from "../../core/changes/notice.ts";
import { waitBeforeReconnect } from "../../core/failure/backoff.ts";
import type { ChangeFeed, ChangeReader } from "../../ports/change-feed.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Beginning } from "./beginning.ts";
import { ColumnLooks } from "./column-lookups.ts";
import { WakeableSleep } from "./wakeable-sleep.ts";
import { type WayState, WayTracker } from "./way-state.ts";

export interface PollerPorts {
  readonly feed: ChangeFeed;
  readonly clock: Clock;
  readonly log: Log;
  readonly onNotice: (notice: Notice) => void;
}

interface PollerRun {
  readonly stop: AbortSignal;
  readonly beginning: Beginning;
  /** The end of the run before this one. */
  readonly after: Promise<unknown> | undefined;
  /** The table that the last sync read. */
  readonly before: string | null | undefined;
}

/** The shortest pause between two looks, in milliseconds, however often somebody asks for one. */
const SHORTEST_PAUSE = 50;
/** Without an index, looks take at most a tenth of the time. */
const PAUSES_PER_LOOK = 9;
/** How often a missing index is looked for again, in milliseconds. */
const INDEX_CHECK_EVERY = 600_000;

/** Asks the change column for its newest rows, one look at a time. Nothing that the database does ends it. */
export class Poller {
  readonly #ports: PollerPorts;
  readonly #everyMs: number;
  readonly #tracker: WayTracker;
  readonly #sleep: WakeableSleep;
  /** Kept while the poller is off, so that the next look finds what has changed meanwhile. */
  readonly #looks: ColumnLooks;
  #type: string | undefined;
  /** What would help. Null if there is an index. */
  #missingIndex: string | null = null;
  /** Whether the looks are fewer than the config asks for, because of the missing index. */
  #isRationed = false;
  #indexCheckAt = Number.NEGATIVE_INFINITY;

  constructor(everyMs: number, ports: PollerPorts) {
    this.#ports = ports;
    this.#everyMs = everyMs;
    this.#tracker = new WayTracker("column", ports.clock, ports.log);
    this.#sleep = new WakeableSleep(ports.clock);
    this.#looks = new ColumnLooks(ports.clock);
  }

  get state(): WayState {
    return this.#tracker.state;
  }

  /** False if the config names no column that can be asked. A database that is away is asked when it is back. */
  get canLook(): boolean {
    const { state } = this;
    return !(state.kind === "broken" && state.error.code.startsWith("CONFIG_"));
  }

  /** Looks as soon as the pause that the database is owed is over, and not at the end of the period. */
  lookNow(): void {
    this.#sleep.wake();
  }

  /** A full sync has ended, and has found what the looks have missed. */
  syncEnded(): void {
    this.#looks.syncEnded();
  }

  /** Looks until `stop` aborts. Never rejects. */
  async run({ stop, beginning, after, before }: PollerRun): Promise<void> {
    const { clock, feed } = this.#ports;
    const attempted = beginning.attempt();
    await after;
    this.#tracker.starts();
    let reader: ChangeReader | undefined;
    let failures = 0;
    while (!stop.aborted) {
      const begun = clock.monotonic();
      try {
        reader ??= await this.#opened(feed, stop, before);
        await this.#look(reader, beginning);
        failures = 0;
        this.#tracker.works(this.#looks.warning);
      } catch (error) {
        await reader?.close();
        reader = undefined;
        if (stop.aborted) break;
        failures++;
        this.#tracker.fails(error, "until that is mended, the next full sync finds what changes");
      }
      attempted();
      const took = clock.monotonic() - begun;
      if (failures > 0)
        await clock.sleep(
          waitBeforeReconnect(failures, () => clock.random()),
          stop,
        );
      else await this.#pause(took, stop);
    }
    await reader?.close();
    this.#tracker.stops();
    attempted();
  }

  async #opened(
    feed: ChangeFeed,
    stop: AbortSignal,
    before: string | null | undefined,
  ): Promise<ChangeReader> {
    const reader = await feed.open(stop, before);
    // Somebody has altered the column: begin anew, as at the start.
    if (reader.type !== this.#type) this.#looks.forget();
    this.#type = reader.type;
    return reader;
  }

  async #pause(took: number, stop: AbortSignal): Promise<void> {
    const ration = this.#missingIndex === null ? 0 : PAUSES_PER_LOOK * took;
    if (took + ration > this.#everyMs) this.#warnOfRation();
    const owed = Math.max(SHORTEST_PAUSE, ration);
    await this.#ports.clock.sleep(owed, stop);
    await this.#sleep.sleep(this.#everyMs - took - owed, stop);
  }

  async #look(reader: ChangeReader, beginning: Beginning): Promise<void> {
    const isFirst = !this.#looks.hasLooked;
    const notices = await this.#looks.look(reader);
    // The rows of the first look are no news to a full sync that begins later. One that has begun may lack them.
    if (!isFirst || beginning.isOver) for (const notice of notices) this.#ports.onNotice(notice);
    await this.#checkIndex(reader);
  }

  async #checkIndex(reader: ChangeReader): Promise<void> {
    const { clock, log } = this.#ports;
    const { position } = this.#looks;
    // Of an empty column nobody can tell.
    if (position === undefined || clock.monotonic() < this.#indexCheckAt) return;
    const hint = await reader.missingIndex(position);
    this.#indexCheckAt = hint === null ? Number.POSITIVE_INFINITY : clock.monotonic() + INDEX_CHECK_EVERY;
    if (hint === null && this.#isRationed) {
      this.#isRationed = false;
      log({ level: "info", message: "source.changes.column has an index now" });
    }
    this.#missingIndex = hint;
  }

  #warnOfRation(): void {
    if (this.#missingIndex === null || this.#isRationed) return;
    this.#isRationed = true;
    this.#ports.log({
      level: "warn",
      ...CHANGES_NOT_INDEXED,
      hint: this.#missingIndex,
    });
  }
}
