import { MAX_ID_BYTES } from "../../core/group/tenant.ts";
import { WakeableSleep } from "../../engine/serving/wakeable-sleep.ts";
import type { ChangeChannel, OpenChannel } from "../../ports/change-feed.ts";
import type { Clock } from "../../ports/clock.ts";

interface Listening {
  readonly channel: ChangeChannel;
  readonly clock: Clock;
  readonly onTenant: (user_group_id: string) => void;
  /** Something may have changed, and nothing says what. */
  readonly onAnything: () => void;
  /** Called once the connection has shown to work. */
  readonly onWorking: () => void;
  readonly stop: AbortSignal;
}

/** How often the connection is tried, in milliseconds: one that has fallen silent gives no sign of it. */
const PROBE_EVERY = 20_000;

/** Listens over one connection until `stop` aborts. Rejects as `ChangeChannel` does, and once the connection is lost. */
export async function listen(listening: Listening): Promise<void> {
  const { channel, onTenant, onAnything, onWorking, stop } = listening;
  const receive = (payload: string): void => {
    if (payload === "" || Buffer.byteLength(payload) > MAX_ID_BYTES) onAnything();
    else onTenant(payload);
  };
  const open = await channel.open(receive, stop);
  try {
    onWorking();
    // What was notified while nobody listened is lost.
    onAnything();
    await untilLost(open, listening);
  } finally {
    await open.close();
  }
}

/** Resolves when `stop` aborts. Rejects once the connection is lost. */
async function untilLost(open: OpenChannel, { clock, onWorking, stop }: Listening): Promise<void> {
  const pause = new WakeableSleep(clock);
  let lost: Error | undefined;
  void open.lost.then((why) => {
    lost = why;
    pause.wake();
  });
  while (!stop.aborted) {
    await pause.sleep(PROBE_EVERY, stop);
    if (lost) throw lost;
    if (stop.aborted) return;
    await open.probe();
    onWorking();
  }
}
