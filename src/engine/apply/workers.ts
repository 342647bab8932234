import type { Clock } from "../../ports/clock.ts";
import type { WaitBeforeRetry } from "../service/call-with-retries.ts";

interface Working {
  readonly clock: Clock;
  /** How many work at the same time. */
  readonly concurrency: number;
}

/** The most workers that wait for a retry while others work in their places. Fewer than the failures in a row that show an outage. */
const MOST_WAITING = 8;

/**
 * Calls `next` again and again, in several workers, until it resolves to false. While a worker waits for a retry, another one
 * works in its place: a group that fails for half a minute doesn't hold up the others. Waits for all workers before it throws
 * the first error, because a call under way must not be abandoned.
 */
export async function work(
  { clock, concurrency }: Working,
  next: (waitBeforeRetry: WaitBeforeRetry) => Promise<boolean>,
): Promise<void> {
  const workers: Promise<void>[] = [];
  let waiting = 0;

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
      waiting++;
      await clock.sleep(ms, signal);
      waiting--;
    };
    while (!isReplaced && (await next(waitBeforeRetry)));
  };

  for (let n = 0; n < concurrency; n++) start();
  const results: PromiseSettledResult<void>[] = [];
  // Workers that were started meanwhile are at the end of the list.
  for (const one of workers) results.push(...(await Promise.allSettled([one])));
  const failed = results.find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
}
