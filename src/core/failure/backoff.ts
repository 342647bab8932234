import type { RetryableFailure } from "./group-failures.ts";

const MINUTE = 60_000;
/** The longest wait before a group is tried again, in milliseconds. */
export const LONGEST_WAIT = 6 * 60 * MINUTE;

/**
 * How long to wait before a group that has failed `failures` times in a row is tried again, in milliseconds. After the
 * first two failures the next sync tries again. After the third failure the wait is a minute, and each further failure
 * doubles it.
 *
 * This is the highest layer of retries, over several runs. A group gets here after the attempts at its call
 * (engine/service/call-with-retries.ts) or at storing its token (adapters/token-stores/store-retries.ts) have failed. Without this wait, a
 * group that always fails would take all its attempts in every run.
 */
export function waitAfterFailures(failures: number): number {
  if (failures <= 2) return 0;
  return Math.min(LONGEST_WAIT, MINUTE * 2 ** (failures - 3));
}

/**
 * Whether the next try is due; without a failure it is. If `retryAt` is further away than the longest wait, a clock that ran
 * ahead has set it: try now.
 */
export const isDue = (failure: Pick<RetryableFailure, "retryAt"> | null, now: Date): boolean =>
  failure === null || failure.retryAt <= now || failure.retryAt.getTime() - now.getTime() > LONGEST_WAIT;

/** The most attempts of one request, the first included. A request that fails at random nearly always succeeds by then. */
export const MAX_ATTEMPTS = 8;
/**
 * The longest time for all attempts of one request and the waits between them, in milliseconds. Throttling is extra. A
 * group that has to wait longer than this is left to a later run, so that it keeps nobody waiting.
 */
export const LONGEST_TRY = 60_000;

/** How long to wait before attempt number `attempt` (2, 3, …) of one request, in milliseconds, with jitter. */
export const waitBeforeAttempt = (attempt: number, random: () => number, longest = 8_000): number =>
  Math.min(longest, 125 * 2 ** attempt) * (0.5 + random() / 2);

/**
 * How long to wait before a broken connection for noticing changes is opened again after `failures` failures in a row, in
 * milliseconds, with jitter. Between two full syncs new tenants wait for this connection.
 */
export const waitBeforeReconnect = (failures: number, random: () => number): number =>
  Math.min(60_000, 250 * 2 ** failures) * (0.5 + random() / 2);
