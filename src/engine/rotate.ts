import { isDue } from "../core/backoff.ts";
import { interrupted } from "../core/interrupted.ts";
import { dueBefore, mayStart, type RotationCandidate, type RotationPolicy } from "../core/rotation.ts";
import type { Ledger } from "../ports/ledger.ts";
import { insistOnCommits } from "./commit-check.ts";
import { existingGroups } from "./existing-groups.ts";
import { leasedRun, type RunPorts, type RunSettings } from "./leased-run.ts";
import { insistOnLedger } from "./lost-ledger.ts";
import type { PlanPorts, PlanSettings } from "./plan-run.ts";
import type { RunReport } from "./report.ts";
import { rotationCandidates } from "./rotation-candidates.ts";
import { NOT_BEGUN } from "./rotation-failures.ts";
import { groupsOf, type RotationSelection } from "./rotation-selection.ts";
import type { Run } from "./run.ts";
import { settleUnderWay } from "./settle.ts";
import { tellFailure } from "./tell-failure.ts";
import { TokenKeeper } from "./token-keeper.ts";
import { type RotationOptions, TokenRotation } from "./token-rotation.ts";
import { UNTRACKED, untrackedGroups } from "./untracked.ts";

export interface RotatePorts extends RunPorts, PlanPorts {
  readonly ledger: Ledger;
}

export interface RotateSettings extends RunSettings, PlanSettings {
  readonly rotation: RotationPolicy;
}

/**
 * New tokens for the selected groups, at any time of the day and however many; see `leasedRun`. Ends well only where each
 * of them has a token that it didn't have before: whichever has not is named.
 */
export const rotate = (
  ports: RotatePorts,
  settings: RotateSettings,
  selection: RotationSelection,
  signal: AbortSignal,
): Promise<RunReport> =>
  leasedRun("rotate", ports, settings, signal, async (run, service) => {
    await insistOnLedger(run, service);
    const which = await groupsOf(selection, run);
    const unsettled = await settleUnderWay(which, ports, settings, run, service);
    run.observe({ kind: "rotating", tokens: await run.ledger.existingCount(which) });
    run.observe({ kind: "phase", phase: "applying" });
    await rotateTokens(existingGroups(run.ledger, which), run, {
      concurrency: settings.rotation.concurrency,
      mayStart: () => true,
      unsettled,
      acceptsEarlier: false,
      notBegun: (id) => tellFailure(id, NOT_BEGUN, run),
    });
    if (selection.kind === "all")
      for await (const id of untrackedGroups(run)) tellFailure(id, UNTRACKED, run);
    if (run.signal.aborted) throw interrupted();
  });

/**
 * What `rotation` in the config has due by now: the oldest tokens first, as many as one sync may. Groups that this sync has
 * asked for their tokens in vain have their next try in the next one.
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
  const due = readyOnes(rotationCandidates(run.ledger, until), failed, most, run);
  await rotateTokens(due, run, {
    concurrency: policy.concurrency,
    mayStart: () => mayStart(policy, run.clock.now()),
    unsettled: new Map(),
    acceptsEarlier: true,
  });
}

/** Those that failed before wait for their time, and are reported. */
async function* readyOnes(
  candidates: AsyncIterable<RotationCandidate>,
  failed: ReadonlySet<string>,
  most: number,
  { clock, tally }: Run,
): AsyncGenerator<string> {
  let left = most;
  for await (const { user_group_id, failure } of candidates) {
    if (left <= 0) return;
    if (failed.has(user_group_id)) continue;
    if (failure && !isDue(failure.retryAt, clock.now())) {
      tally.waits(user_group_id, failure);
      continue;
    }
    left--;
    yield user_group_id;
  }
}

interface Rotating extends RotationOptions {
  /** Tokens that are new in the service and not stored yet, at most. */
  readonly concurrency: number;
  /** Asked before each rotation. */
  readonly mayStart: () => boolean;
  /** Told of those that are not begun, for another's new token could not be stored. Without it they are left. */
  readonly notBegun?: (id: string) => void;
}

/** Rejects where the run has to end; a token that is new by then is tried to be stored all the same. */
async function rotateTokens(
  ids: AsyncIterable<string>,
  run: Run,
  { concurrency, mayStart, notBegun, ...options }: Rotating,
): Promise<void> {
  const ending = new AbortController();
  const signal = AbortSignal.any([run.signal, ending.signal]);
  const rotation = new TokenRotation(run, new TokenKeeper(run), signal, options);
  const queue = ids[Symbol.asyncIterator]();
  const rotateUntilEnd = async (): Promise<void> => {
    try {
      while (!signal.aborted && mayStart()) {
        const next = await queue.next();
        if (next.done === true) return;
        await insistOnCommits(run);
        if (await rotation.rotate(next.value)) continue;
        if (notBegun === undefined) return;
        notBegun(next.value);
      }
    } catch (error) {
      ending.abort();
      throw error;
    }
  };
  const results = await Promise.allSettled(Array.from({ length: concurrency }, rotateUntilEnd));
  results.push(...(await Promise.allSettled([rotation.tryOnceMore()])));
  const failed = results.find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
}
