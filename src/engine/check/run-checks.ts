import { asSyncError } from "../../core/failure/sync-error.ts";
import { asFinding, type Finding, failure } from "../../core/report/finding.ts";
import { durationText } from "../../core/text/quantity.ts";
import type { Check } from "../../ports/check.ts";
import type { Clock } from "../../ports/clock.ts";

export interface CheckResult {
  readonly name: string;
  readonly findings: readonly Finding[];
}

export interface CheckLimits {
  readonly clock: Clock;
  /** How long one check may take, in milliseconds. */
  readonly limitMs: number;
  /** Aborts when the process is told to stop. */
  readonly stop: AbortSignal;
}

/**
 * Starts all lists of checks at once; the checks of one list run one after the other. Each result comes when its check
 * has ended, or when its time is over. None rejects.
 */
export const startChecks = (
  lists: readonly (readonly Check[])[],
  limits: CheckLimits,
): readonly Promise<CheckResult>[] =>
  lists.flatMap((checks) => {
    let before: Promise<unknown> = Promise.resolve();
    return checks.map((check) => {
      const result = before.then(() => run(check, limits));
      before = result;
      return result;
    });
  });

async function run(check: Check, { clock, limitMs, stop }: CheckLimits): Promise<CheckResult> {
  const findings: Finding[] = [];
  const ended = new AbortController();
  const tooLate = new AbortController();
  const work = collect(check, AbortSignal.any([stop, tooLate.signal]), findings);
  const isLate = clock.sleep(limitMs, ended.signal).then(() => true);
  const cutShort = await Promise.race([work.then(() => false), isLate]);
  ended.abort();
  if (!cutShort) return { name: check.name, findings };
  // What the check finds after this moment, such as that it was interrupted, is no finding.
  const inTime = [...findings];
  tooLate.abort();
  return { name: check.name, findings: [...inTime, late(limitMs)] };
}

async function collect(check: Check, stop: AbortSignal, findings: Finding[]): Promise<void> {
  try {
    for await (const finding of check.find(stop)) findings.push(finding);
  } catch (error) {
    findings.push(asFinding("failure", asSyncError(error)));
  }
}

const late = (limitMs: number): Finding =>
  failure(
    `the check did not end within ${durationText(limitMs)}`,
    "whatever it waits for answers too slowly, or not at all",
  );
