import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../../ports/clock.ts";

/** The machine's own time and random numbers. */
export const hostClock: Clock = {
  now: () => new Date(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) => {
    if (!signal) return sleep(ms);
    // Many calls of a run wait on one signal. By default Node.js warns at the eleventh listener.
    setMaxListeners(0, signal);
    return sleep(ms, undefined, { signal }).catch(() => {});
  },
  random: () => Math.random(),
};
