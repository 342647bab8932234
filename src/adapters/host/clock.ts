import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../../ports/clock.ts";

/** The machine's own time and chance. */
export const hostClock: Clock = {
  now: () => new Date(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) => {
    if (!signal) return sleep(ms);
    // All calls of a run wait on its one signal: that is no leak, and nothing to warn of.
    setMaxListeners(0, signal);
    return sleep(ms, undefined, { signal }).catch(() => {});
  },
  random: () => Math.random(),
};
