import type { Outcome } from "../../core/apply/outcome.ts";
import { LONGEST_WAIT, waitAfterFailures } from "../../core/failure/backoff.ts";
import type { SyncError } from "../../core/failure/sync-error.ts";
import { tokenFingerprint } from "../../core/group/group.ts";
import { isForToken } from "../../core/plan/change.ts";
import type { RecordedOutcome } from "../../core/record/next.ts";
import type { GroupRecord } from "../../core/record/record.ts";
import type { StoreOutageDetector } from "../../core/tokens/store-outage-detector.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Reporting } from "../report/tally.ts";
import type { ServiceIdentity } from "../service/service-identity.ts";
import { copiesUnsure } from "../tokens/store-tokens.ts";
import type { TokenWriting } from "../tokens/token-writing.ts";
import type { Committer } from "./committer.ts";
import { reportDrift, reportOutcome } from "./report-outcome.ts";

/** What a step needs to record the outcomes of calls. */
export interface OutcomeRecording extends Reporting, Pick<TokenWriting, "tokens" | "lease"> {
  readonly clock: Clock;
  readonly committer: Committer;
  readonly identity: ServiceIdentity;
  readonly refusals: StoreOutageDetector;
  /** See `ServiceCalling`. */
  readonly isForSingleTenants: boolean;
}

/** The longest wait before a group's next try, in milliseconds, as long as the service has never answered well. */
const LONGEST_WAIT_AT_FIRST = 10 * 60_000;

/**
 * Stores the token of an outcome or removes it, records the outcome, and reports it. Rejects if nothing more can be recorded, and
 * with TOKEN_STORE_UNAVAILABLE if the store refuses every token: then the refusals are recorded.
 */
export async function recordOutcome(
  before: GroupRecord | null,
  outcome: Outcome,
  run: OutcomeRecording,
): Promise<void> {
  const now = run.clock.now();
  const recordedWith = (refusal?: SyncError): RecordedOutcome =>
    withRetry(recordedAs(outcome, refusal), before, now, run.identity);
  const isKnown = "token" in outcome && before?.tokenFingerprint === tokenFingerprint(outcome.token);
  const { refusal } = await run.committer.commit({
    isKnown,
    isUrgent: run.isForSingleTenants,
    user_group_id: outcome.change.user_group_id,
    token: "token" in outcome ? outcome.token : hadToken(outcome) ? "remove" : undefined,
    events: (refused) => {
      const recorded = recordedWith(refused);
      const ended = { kind: "ended", ...recorded } as const;
      if ("token" in recorded.outcome) return [ended, ...copiesUnsure(before, run)];
      return before && isAsBefore(recorded.outcome) ? [{ kind: "unsent", before }, ended] : [ended];
    },
  });
  const recorded = recordedWith(refusal);
  reportDrift(before, outcome, run);
  reportOutcome(recorded, run);
  insistOnStore(recorded.outcome, run.refusals);
}

const isAsBefore = (outcome: Outcome): boolean => outcome.kind === "failed" && outcome.isAsBefore === true;

/** A canary's token is never stored. */
const hadToken = (outcome: Outcome): boolean =>
  outcome.kind === "deleted" && outcome.change.absence !== "canary";

function recordedAs(outcome: Outcome, refusal: SyncError | undefined): Omit<RecordedOutcome, "retryAt"> {
  if (!refusal) return { outcome };
  const failure = { code: refusal.code, message: refusal.message };
  if (outcome.kind === "deleted") return { outcome, notRemoved: failure };
  // The token is not lost: the next sync copies it from a store that has it to the stores that lack it.
  const isSomewhere = refusal.code === "TOKEN_NOT_EVERYWHERE" && "unverified" in outcome;
  if (isSomewhere) return { outcome, notEverywhere: failure };
  const { change, drift } = { drift: undefined, ...outcome };
  const failed = { kind: "failed", change, failure, mayHaveHappened: true, ...(drift && { drift }) } as const;
  const isShared = refusal.code === "TOKEN_SHARED" && "token" in outcome;
  return { outcome: failed, ...(isShared && { sharedToken: tokenFingerprint(outcome.token) }) };
}

/** Throws if the store refuses every token. The refusals are already recorded, and each group waits for its next try. */
function insistOnStore(outcome: Outcome, refusals: StoreOutageDetector): void {
  if ("token" in outcome) refusals.stored();
  else if (outcome.kind === "failed" && outcome.failure.code === "TOKEN_NOT_STORED") {
    const error = refusals.refused(outcome.change.user_group_id, outcome.failure);
    if (error) throw error;
  }
}

function withRetry(
  recorded: Omit<RecordedOutcome, "retryAt">,
  before: GroupRecord | null,
  now: Date,
  identity: ServiceIdentity,
): RecordedOutcome {
  const { outcome, notEverywhere, notRemoved } = recorded;
  const isDone = outcome.kind !== "failed" && outcome.kind !== "not_updated";
  if (isDone && notEverywhere === undefined && notRemoved === undefined) return recorded;
  const isOfStoring =
    notEverywhere !== undefined || (outcome.kind === "failed" && isForToken(outcome.change));
  const count = before?.failures[isOfStoring ? "storing" : "change"]?.count ?? 0;
  const askedMs = outcome.kind === "failed" ? (outcome.retryAfterMs ?? 0) : 0;
  const wait = Math.max(waitAfterFailures(count + 1), Math.min(askedMs, LONGEST_WAIT));
  // While the service has never answered well, `service.base_url` may be wrong. So wait at most ten minutes: once the url
  // is corrected, no group should wait long. But do wait, because groups that always fail must not keep others from
  // their slots.
  const waitMs = identity.isKnown ? wait : Math.min(wait, LONGEST_WAIT_AT_FIRST);
  return { ...recorded, retryAt: new Date(now.getTime() + waitMs) };
}
