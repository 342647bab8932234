import { asSyncError } from "../../core/failure/sync-error.ts";
import { asFinding, type Finding, failure } from "../../core/report/finding.ts";
import { durationText } from "../../core/text/quantity.ts";
import type { Clock } from "../../ports/clock.ts";

/** One subject of `groupsync check`. It needs no other check, and leaves everything as it was. */
export interface Check {
  /** Stands before each of its findings. */
  readonly title: string;
  /** What helps against a failure that doesn't say what helps. */
  readonly remedy: string;
  /**
   * Tells what it finds as soon as it is found. An error that it throws is its last finding. Once `stop` aborts, it ends as
   * soon as it can.
   */
  run(stop: AbortSignal): AsyncIterable<Finding>;
}

export interface CheckResult {
  readonly title: string;
  readonly findings: readonly Finding[];
}

export interface CheckLimits {
  readonly clock: Clock;
  /** How long one check may take, in milliseconds. */
  readonly limitMs: number;
  /** Aborts when the process is told to stop. */
  readonly stop: AbortSignal;
}

/** Runs the checks one after the other. One that fails, or whose time is over, hides no other. */
export async function* runChecks(checks: readonly Check[], limits: CheckLimits): AsyncGenerator<CheckResult> {
  for (const check of checks) yield await resultOf(check, limits);
}

async function resultOf(check: Check, { clock, limitMs, stop }: CheckLimits): Promise<CheckResult> {
  const { title, remedy } = check;
  const findings: Finding[] = [];
  const ended = new AbortController();
  const tooLate = new AbortController();
  const work = collect(check, AbortSignal.any([stop, tooLate.signal]), findings);
  const isLate = clock.sleep(limitMs, ended.signal).then(() => true);
  const cutShort = await Promise.race([work.then(() => false), isLate]);
  ended.abort();
  if (!cutShort) return { title, findings };
  // What the check finds after this moment, such as that it was interrupted, is no finding.
  const inTime = [...findings];
  tooLate.abort();
  return {
    title,
    findings: [...inTime, failure(`the check did not end within ${durationText(limitMs)}`, remedy)],
  };
}

async function collect(check: Check, stop: AbortSignal, findings: Finding[]): Promise<void> {
  try {
    for await (const finding of check.run(stop)) findings.push(finding);
  } catch (error) {
    const { code, message, hint = check.remedy } = asSyncError(error);
    findings.push(asFinding("failure", { code, message, hint }));
  }
}
