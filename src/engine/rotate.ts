import { isDue } from "../core/failure/backoff.ts";
import { interrupted, withHint } from "../core/failure/sync-error.ts";
import {
  dueBefore,
  mayStart,
  type RotationCandidate,
  type RotationPolicy,
} from "../core/rotation/rotation-policy.ts";
import { withLock } from "./lease/tenant-locks.ts";
import { leasedRun, type Run, type RunPorts, type RunSettings } from "./leased-run.ts";
import type { RunReport } from "./report/run-report.ts";
import { reportFailure } from "./report/tally.ts";
import {
  existingGroups,
  groupsOf,
  type RotationSelection,
  rotationCandidates,
} from "./rotation/rotation-selection.ts";
import { NOT_BEGUN, TokenRotation } from "./rotation/token-rotation.ts";
import { insistOnLedger } from "./tokens/lost-ledger.ts";
import { UNTRACKED, untrackedGroups } from "./verify/untracked-tokens.ts";

export interface RotateSettings extends RunSettings {
  readonly rotation: RotationPolicy;
}

/**
 * Rotates the tokens of the selected groups, whatever `rotation` in the config allows; see `leasedRun`. The outcome is "ok"
 * only if each of these groups has a new token. The report names every group that has none.
 */
export const rotate = (
  ports: RunPorts,
  settings: RotateSettings,
  selection: RotationSelection,
  signal: AbortSignal,
): Promise<RunReport> =>
  leasedRun("rotate", ports, settings, signal, async (run, service) => {
    await insistOnLedger(run, service);
    const which = await groupsOf(selection, run);
    run.observe({ kind: "rotating", tokens: await run.ledger.existingCount(which) });
    run.observe({ kind: "phase", phase: "applying" });
    const began = run.clock.now();
    const rotated = new Set<string>();
    const observe: Run["observe"] = (event) => {
      if (event.kind === "rotated") rotated.add(event.user_group_id);
      run.observe(event);
    };
    const left = () => whatIsLeft(selection, began, rotated);
    await rotateTokens(
      existingGroups(run.ledger, which),
      { ...run, observe },
      {
        concurrency: settings.rotation.concurrency,
        mayStart: () => true,
        notBegun: (id) => {
          run.tally.keptTokens.add(id);
          reportFailure(id, NOT_BEGUN, run);
        },
      },
    ).catch((error: unknown) => {
      throw withHint(left(), error);
    });
    if (run.signal.aborted) throw withHint(left(), interrupted());
    if (selection.kind === "all")
      for await (const id of untrackedGroups(run)) reportFailure(id, UNTRACKED, run);
  });

/**
 * What the operator does about the tokens that a rotation, begun at this time, did not reach: no sync goes on with it. Leaves out
 * those in `rotated`: an application may have read such a token already.
 */
function whatIsLeft(selection: RotationSelection, began: Date, rotated: ReadonlySet<string>): string {
  const noSync = "no sync rotates the tokens that were not reached";
  switch (selection.kind) {
    case "all":
      return `${noSync}: run groupsync rotate --older-than AGE, where AGE is the time since ${began.toISOString()}, such as 3m`;
    case "older than":
      return `${noSync}: run the same command again, which leaves out the new ones`;
    case "only":
      return `${noSync}: give these ids to --only again: ${[...selection.ids].filter((id) => !rotated.has(id)).join(", ")}`;
  }
}

/**
 * Rotates the tokens that are due by `rotation` in the config: the oldest first, at most `max_per_run`. Leaves out the groups
 * in `failed`: a GET for their tokens has failed in this sync, and the next sync tries again.
 */
export async function rotateDueTokens(
  policy: RotationPolicy,
  failed: ReadonlySet<string>,
  run: Run,
): Promise<void> {
  const now = run.clock.now();
  const until = dueBefore(policy, now);
  if (until === null || !mayStart(policy, now)) return;
  const count = await run.ledger.rotatableCount(until);
  if (count === 0) return;
  const most = Math.min(count, policy.maxPerRun ?? count);
  run.observe({ kind: "rotating", tokens: most });
  const due = dueCandidates(rotationCandidates(run.ledger, until), failed, most, run);
  await rotateTokens(due, run, {
    concurrency: policy.concurrency,
    mayStart: () => mayStart(policy, run.clock.now()),
  });
}

/** Leaves out candidates that failed before and whose next attempt is not due. */
async function* dueCandidates(
  candidates: AsyncIterable<RotationCandidate>,
  failed: ReadonlySet<string>,
  most: number,
  { clock }: Run,
): AsyncGenerator<string> {
  let left = most;
  for await (const { user_group_id, failure } of candidates) {
    if (left <= 0) return;
    if (failed.has(user_group_id) || (failure && !isDue(failure.retryAt, clock.now()))) continue;
    left--;
    yield user_group_id;
  }
}

interface Rotating {
  /** The most tokens at a time that are new in the service and not stored yet. */
  readonly concurrency: number;
  /** Called before each rotation: false if no further rotation may start. */
  readonly mayStart: () => boolean;
  /** Called for each group whose rotation does not start, because another group's new token could not be stored. */
  readonly notBegun?: (id: string) => void;
}

/** Rejects if the run has to end, once the rotations under way have ended. */
async function rotateTokens(
  ids: AsyncIterable<string>,
  run: Run,
  { concurrency, mayStart, notBegun }: Rotating,
): Promise<void> {
  const ending = new AbortController();
  const signal = AbortSignal.any([run.signal, ending.signal]);
  const rotation = new TokenRotation(run, signal);
  const queue = ids[Symbol.asyncIterator]();
  const rotateUntilEnd = async (): Promise<void> => {
    try {
      while (!signal.aborted && mayStart()) {
        const next = await queue.next();
        if (next.done === true) return;
        if (await withLock(run.locks, [next.value], () => rotation.rotate(next.value))) continue;
        if (notBegun === undefined) return;
        notBegun(next.value);
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
