import { CHANGES_NOT_INDEXED } from "../../core/changes/missing-index.ts";
import type { Notice } from "../../core/changes/notice.ts";
import { WakeableSleep } from "../../engine/serving/wakeable-sleep.ts";
import type { ChangeFeed } from "../../ports/change-feed.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { ColumnLookups } from "./column-lookups.ts";

interface PollerPorts {
  readonly feed: ChangeFeed;
  readonly everyMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** One connection of the poller. */
interface Polling {
  /** The table that the last sync read. */
  readonly before: string | null | undefined;
  readonly onNotice: (notice: Notice) => void;
  /** Called after each lookup that has worked. */
  readonly onWorking: () => void;
  readonly stop: AbortSignal;
}

/** The shortest pause between two lookups, in milliseconds, however often somebody asks for one. */
const SHORTEST_PAUSE = 50;
/** Without an index, lookups take at most a tenth of the time. */
const PAUSES_PER_LOOKUP = 9;

/** Asks the change column for its newest rows, one lookup at a time. */
export class Poller {
  readonly #ports: PollerPorts;
  readonly #sleep: WakeableSleep;
  /** Kept while there is no connection, so that the next lookup finds what has changed meanwhile. */
  readonly #lookups: ColumnLookups;
  /** What would help, null if there is an index, and undefined if nobody has asked yet. */
  #missingIndex: string | null | undefined;
  #hasWarned = false;

  constructor(ports: PollerPorts) {
    this.#ports = ports;
    this.#sleep = new WakeableSleep(ports.clock);
    this.#lookups = new ColumnLookups(ports.clock);
  }

  /** Looks up as soon as the pause that the database is owed is over, and not at the end of the period. */
  lookUpNow(): void {
    this.#sleep.wake();
  }

  /** A full sync has ended: asks again whether there is an index, if there was none. */
  syncEnded(): void {
    if (this.#missingIndex !== null) this.#missingIndex = undefined;
  }

  /** Looks up over one connection until `stop` aborts. Rejects as `ChangeFeed` does. */
  async poll({ before, onNotice, onWorking, stop }: Polling): Promise<void> {
    const { feed, clock } = this.#ports;
    const reader = await feed.open(stop, before);
    try {
      while (!stop.aborted) {
        const begun = clock.monotonic();
        for (const notice of await this.#lookups.lookUp(reader)) onNotice(notice);
        // Of an empty column nobody can tell.
        const { position } = this.#lookups;
        if (position !== undefined && this.#missingIndex === undefined)
          this.#missingIndex = await reader.missingIndex(position);
        onWorking();
        await this.#pause(clock.monotonic() - begun, stop);
      }
    } finally {
      await reader.close();
    }
  }

  async #pause(took: number, stop: AbortSignal): Promise<void> {
    const { clock, everyMs, log } = this.#ports;
    const ration = this.#missingIndex ? PAUSES_PER_LOOKUP * took : 0;
    if (this.#missingIndex && took + ration > everyMs && !this.#hasWarned) {
      this.#hasWarned = true;
      log({ level: "warn", ...CHANGES_NOT_INDEXED, hint: this.#missingIndex });
    }
    const owed = Math.max(SHORTEST_PAUSE, ration);
    await clock.sleep(owed, stop);
    await this.#sleep.sleep(everyMs - took - owed, stop);
  }
}
