import { MAX_ID_BYTES } from "../../core/group/tenant.ts";
import { WakeableSleep } from "../../engine/serving/wakeable-sleep.ts";
import type { ChangeChannel } from "../../ports/change-feed.ts";
import type { Clock } from "../../ports/clock.ts";

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
export async function listen({
  channel,
  clock,
  onTenant,
  onAnything,
  works,
  stop,
}: Listening): Promise<void> {
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
