import type { RotationCandidate } from "../core/rotation.ts";
import type { Run } from "./run.ts";
import { TokenKeeper } from "./token-keeper.ts";
import { TokenRotation } from "./token-rotation.ts";

export interface RotationLimits {
  /** Tokens that are new in the service and not stored yet, at most. */
  readonly concurrency: number;
  /** Asked before each rotation. */
  readonly mayStart: () => boolean;
}

/**
 * Replaces tokens by new ones. Rejects where the run has to end; a token that is new by then is stored all the
 * same, for as long as the process lives.
 */
export async function rotateTokens(
  candidates: AsyncIterable<RotationCandidate>,
  run: Run,
  { concurrency, mayStart }: RotationLimits,
): Promise<void> {
  const ending = new AbortController();
  const signal = AbortSignal.any([run.signal, ending.signal]);
  const rotation = new TokenRotation(run, new TokenKeeper(run), signal);
  const queue = candidates[Symbol.asyncIterator]();
  const rotateUntilEnd = async (): Promise<void> => {
    try {
      while (!signal.aborted && mayStart()) {
        const next = await queue.next();
        if (next.done === true) return;
        await rotation.rotate(next.value.user_group_id);
      }
    } catch (error) {
      ending.abort();
      throw error;
    }
  };
  const results = await Promise.allSettled(Array.from({ length: concurrency }, rotateUntilEnd));
  const failed = results.find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
}
