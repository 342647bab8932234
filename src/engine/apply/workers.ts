import type { Clock } from "../../ports/clock.ts";
import type { WaitBeforeRetry } from "../service/call-with-retries.ts";

interface Working {
  readonly clock: Clock;
  /** How many work at the same time. */
  readonly concurrency: number;
  /** Whether somebody else repeats what has failed: then the work doesn't wait for its retries once nothing else is left to do. */
  readonly handsRetriesOn: () => boolean;
}

/** The most workers that wait for a retry while others work in their places. Fewer than the failures in a row that show an outage. */
const MOST_WAITING = 8;

/**
 * Calls `next` again and again, in several workers, until it resolves to false. While a worker waits for a retry, another one
 * works in its place: a group that fails for half a minute doesn't hold up the others. Waits for all workers before it throws
 * the first error, because a call under way must not be abandoned.
 */
export async function work(
  { clock, concurrency, handsRetriesOn }: Working,
  next: (waitBeforeRetry: WaitBeforeRetry) => Promise<boolean>,
): Promise<void> {
  const workers: Promise<void>[] = [];
  const retriesEnd = new AbortController();
  let busy = 0;
  let waiting = 0;
  let isAllTaken = false;
  const endRetries = (): void => {
    if (isAllTaken && busy === 0 && handsRetriesOn()) retriesEnd.abort();
  };

  const start = (): void => {
    const started = worker();
    // Its error is thrown when all workers have ended; until then it only must not count as unhandled.
    started.catch(() => {});
    workers.push(started);
  };
  const worker = async (): Promise<void> => {
    let isReplaced = false;
    const waitBeforeRetry: WaitBeforeRetry = async (ms, signal) => {
      if (!isReplaced && waiting < MOST_WAITING) {
        isReplaced = true;
        start();
      }
      busy--;
      waiting++;
      endRetries();
      await clock.sleep(ms, AbortSignal.any([signal, retriesEnd.signal]));
      waiting--;
      busy++;
      return !retriesEnd.signal.aborted;
    };
    busy++;
    try {
      while (!isReplaced) {
        if (await next(waitBeforeRetry)) continue;
        isAllTaken = true;
        return;
      }
    } finally {
      busy--;
      endRetries();
    }
  };

  for (let n = 0; n < concurrency; n++) start();
  const results: PromiseSettledResult<void>[] = [];
  // Workers that were started meanwhile are at the end of the list.
  for (const one of workers) results.push(...(await Promise.allSettled([one])));
  const failed = results.find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
}
