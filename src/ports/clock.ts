/** Time and chance. A simulation brings its own. */
export interface Clock {
  now(): Date;
  /** In milliseconds since an arbitrary start; never runs backwards. */
  monotonic(): number;
  /** Resolves after `ms`, or as soon as the signal aborts; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** At least 0 and less than 1. */
  random(): number;
}
