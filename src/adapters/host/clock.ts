import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../../ports/clock.ts";

/** The machine's own time and chance. */
export const hostClock: Clock = {
  now: () => new Date(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) => sleep(ms, undefined, signal ? { signal } : {}).catch(() => {}),
  random: () => Math.random(),
};
