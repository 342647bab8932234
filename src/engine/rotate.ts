import { isDue } from "../core/backoff.ts";
import { interrupted } from "../core/interrupted.ts";
import { dueBefore, mayStart, type RotationCandidate, type RotationPolicy } from "../core/rotation.ts";
import { leasedRun, type RunPorts, type RunSettings } from "./leased-run.ts";
import type { RunReport } from "./report.ts";
import { rotationCandidates } from "./rotation-candidates.ts";
import { type RotationSelection, selectedForRotation } from "./rotation-selection.ts";
import type { Run } from "./run.ts";
import { TokenKeeper } from "./token-keeper.ts";
import { TokenRotation } from "./token-rotation.ts";

export interface RotateSettings extends RunSettings {
  readonly rotation: RotationPolicy;
}

/** New tokens for the selected groups, at any time of the day and however many; see `leasedRun`. */
export const rotate = (
  ports: RunPorts,
  settings: RotateSettings,
  selection: RotationSelection,
  signal: AbortSignal,
): Promise<RunReport> =>
  leasedRun("rotate", ports, settings, signal, async (run) => {
    const { ids, count } = await selectedForRotation(selection, run);
    run.observe({ kind: "rotating", tokens: count });
    run.observe({ kind: "phase", phase: "applying" });
    await rotateTokens(ids, run, { concurrency: settings.rotation.concurrency, mayStart: () => true });
    if (run.signal.aborted) throw interrupted();
  });

/** What `rotation` in the config has due by now: the oldest tokens first, as many as one sync may. */
export async function rotateDueTokens(policy: RotationPolicy, run: Run): Promise<void> {
  const now = run.clock.now();
  const until = dueBefore(policy, now);
  if (until === null || !mayStart(policy, now)) return;
  const count = await run.ledger.rotatableCount(until);
  if (count === 0) return;
  const most = Math.min(count, policy.maxPerRun ?? count);
  run.observe({ kind: "rotating", tokens: most });
  const due = readyOnes(rotationCandidates(run.ledger, until), most, run);
  await rotateTokens(due, run, {
    concurrency: policy.concurrency,
    mayStart: () => mayStart(policy, run.clock.now()),
  });
}

/** Those that failed before wait for their time, and are reported. */
async function* readyOnes(
  candidates: AsyncIterable<RotationCandidate>,
  most: number,
  { clock, tally }: Run,
): AsyncGenerator<string> {
  let left = most;
  for await (const { user_group_id, failure } of candidates) {
    if (left <= 0) return;
    if (failure && !isDue(failure.retryAt, clock.now())) {
      tally.waits(user_group_id, failure);
      continue;
    }
    left--;
    yield user_group_id;
  }
}

interface RotationLimits {
  /** Tokens that are new in the service and not stored yet, at most. */
  readonly concurrency: number;
  /** Asked before each rotation. */
  readonly mayStart: () => boolean;
}

/**
 * Rejects where the run has to end; a token that is new by then is stored all the same, for as long as the
 * process lives.
 */
async function rotateTokens(
  ids: AsyncIterable<string>,
  run: Run,
  { concurrency, mayStart }: RotationLimits,
): Promise<void> {
  const ending = new AbortController();
  const signal = AbortSignal.any([run.signal, ending.signal]);
  const rotation = new TokenRotation(run, new TokenKeeper(run), signal);
  const queue = ids[Symbol.asyncIterator]();
  const rotateUntilEnd = async (): Promise<void> => {
    try {
      while (!signal.aborted && mayStart()) {
        const next = await queue.next();
        if (next.done === true) return;
        await rotation.rotate(next.value);
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
