import type { Notice } from "../../core/changes/notice.ts";
import { waitBeforeReconnect } from "../../core/failure/backoff.ts";
import { MAX_ID_BYTES } from "../../core/group/tenant.ts";
import type { ChangeChannel, OpenChannel } from "../../ports/change-feed.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Beginning } from "./beginning.ts";
import { WakeableSleep } from "./wakeable-sleep.ts";
import { type WayState, WayTracker } from "./way-state.ts";

export interface ListenerPorts {
  readonly channel: ChangeChannel;
  readonly clock: Clock;
  readonly log: Log;
  readonly onNotice: (notice: Notice) => void;
  /** Something changed, and the payload doesn't say what. */
  readonly lookNow: () => void;
}

interface ListenerRun {
  readonly stop: AbortSignal;
  readonly beginning: Beginning;
  /** The end of the run before this one. */
  readonly after: Promise<unknown> | undefined;
}

/** How often the line is tried, in milliseconds: a line that has fallen silent gives no sign of it. */
const PROBE_EVERY = 20_000;

/** Hears which tenants change. Nothing that happens to its connection ends it. */
export class Listener {
  readonly #ports: ListenerPorts;
  readonly #tracker: WayTracker;
  /** The daemon's first full sync begins after the first attempt, so nothing is lost before that. */
  #isFirst = true;

  constructor(ports: ListenerPorts) {
    this.#ports = ports;
    this.#tracker = new WayTracker("channel", ports.clock, ports.log);
  }

  get state(): WayState {
    return this.#tracker.state;
  }

  /** Listens until `stop` aborts. Never rejects. */
  async run({ stop, beginning, after }: ListenerRun): Promise<void> {
    const { channel, clock, lookNow } = this.#ports;
    const attempted = beginning.attempt();
    await after;
    this.#tracker.starts();
    let failures = 0;
    while (!stop.aborted) {
      let open: OpenChannel | undefined;
      try {
        open = await channel.open((payload) => this.#hear(payload), stop);
        failures = 0;
        this.#tracker.works();
        // What was notified while nobody listened is lost.
        if (!this.#isFirst || beginning.isOver) lookNow();
        this.#isFirst = false;
        attempted();
        await this.#untilLost(open, stop);
      } catch (error) {
        if (stop.aborted) break;
        failures++;
        this.#tracker.fails(
          error,
          "until that is mended, nothing is heard, and the next full sync finds what changes",
        );
      } finally {
        await open?.close();
      }
      this.#isFirst = false;
      attempted();
      await clock.sleep(
        waitBeforeReconnect(Math.max(1, failures), () => clock.random()),
        stop,
      );
    }
    this.#tracker.stops();
    attempted();
  }

  /** Rejects once the line is lost. Resolves when `stop` aborts. */
  async #untilLost(open: OpenChannel, stop: AbortSignal): Promise<void> {
    const pause = new WakeableSleep(this.#ports.clock);
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
  }

  #hear(payload: string): void {
    const { onNotice, lookNow } = this.#ports;
    if (payload === "" || Buffer.byteLength(payload) > MAX_ID_BYTES) lookNow();
    else onNotice({ kind: "tenant", user_group_id: payload, way: "channel" });
  }
}
