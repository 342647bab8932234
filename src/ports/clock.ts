/** Time and chance, as parameters: a simulation brings its own. */
export interface Clock {
  now(): Date;
  /** Milliseconds that never run backwards, from an arbitrary start. */
  monotonic(): number;
  /** Resolves after `ms`, or as soon as the signal aborts; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** At least 0 and less than 1. */
  random(): number;
}
