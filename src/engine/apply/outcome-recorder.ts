import type { Outcome } from "../../core/apply/outcome.ts";
import { LONGEST_WAIT, waitAfterFailures } from "../../core/failure/backoff.ts";
import { asSyncError, type SyncError } from "../../core/failure/sync-error.ts";
import { tokenFingerprint } from "../../core/group/group.ts";
import { isForToken } from "../../core/plan/change.ts";
import type { EventOf, RecordedOutcome } from "../../core/record/next.ts";
import type { StoreOutageDetector } from "../../core/tokens/store-outage-detector.ts";
import type { Refusals } from "../../core/tokens/token-copies.ts";
import type { Begun } from "../../ports/ledger/groups.ts";
import type { LedgerTransaction } from "../../ports/ledger/ledger.ts";
import type { StoredToken } from "../../ports/token-store.ts";
import type { Lock } from "../lease/tenant-locks.ts";
import type { Reporting } from "../report/tally.ts";
import type { ServiceIdentity } from "../service/service-identity.ts";
import { isRefusal, retryInHalves, type TokenWriting } from "../tokens/retry-batch.ts";
import { idsWithSharedTokens, tokenShared } from "../tokens/shared-tokens.ts";
import { removeFromTables, removeOutside, storeInTables, storeOutside } from "../tokens/store-tokens.ts";
import { copiesUnsure } from "../tokens/unsure-copies.ts";
import { reportDrift, reportOutcome } from "./report-outcome.ts";

/** What a step needs to record the outcomes of calls. */
export interface OutcomeRecording extends TokenWriting, Reporting {
  /** Most calls in flight. */
  readonly concurrency: number;
  readonly identity: ServiceIdentity;
  readonly refusals: StoreOutageDetector;
}

/** The longest wait before a group's next try, in milliseconds, as long as the service has never answered well. */
const LONGEST_WAIT_AT_FIRST = 10 * 60_000;

interface Finished {
  readonly begun: Begun;
  readonly outcome: Outcome;
  /** Ends once the outcome is recorded, or can't be. */
  readonly lock: Lock;
  isRecorded: boolean;
}

/**
 * If the last batch had this many outcomes, the service is fast, and the next batch waits for more. A store that refuses
 * every token has ended the run by then: see `StoreOutageDetector`.
 */
const FAST_BATCH = 16;
/** The most outcomes in one transaction if no token table is in the ledger's database. */
const BATCH = 64;
/** Until such a batch is written: the most unrecorded outcomes for each call in flight. */
const UNRECORDED_AT_FIRST = 8;
/** How long a batch waits for more outcomes, in milliseconds. A transaction costs nearly the same for many as for one. */
const GATHER_MS = 100;

/**
 * Writes outcomes to the token store and the ledger in batches. A batch has all outcomes that arrived while the batch
 * before was being written: one outcome if the service is slow, many if the service is fast. Only if it is fast does a
 * batch wait for more.
 */
export class OutcomeRecorder {
  readonly #run: OutcomeRecording;
  readonly #queue: Finished[] = [];
  /** How many outcomes are not recorded yet, in the queue and in the batch that is being written. */
  #unwritten = 0;
  #writing: Promise<void> | undefined;
  #lastBatchSize = 0;
  /** Ends the wait for more outcomes. */
  #gathering = new AbortController();
  #failure: { readonly error: unknown } | undefined;

  constructor(run: OutcomeRecording) {
    this.#run = run;
  }

  /** Takes an outcome, and waits while too many outcomes are unrecorded. Rejects once a batch has failed. */
  async add(begun: Begun, outcome: Outcome, lock: Lock): Promise<void> {
    this.#queue.push({ begun, outcome, lock, isRecorded: false });
    this.#unwritten++;
    this.#writing ??= this.#write();
    if (this.#isFull) this.#gathering.abort();
    while (this.#unwritten >= this.#limit && this.#writing !== undefined) await this.#writing;
    this.#throwFailure();
  }

  /** Waits until everything is written. */
  async drain(): Promise<void> {
    while (this.#writing !== undefined) {
      this.#gathering.abort();
      await this.#writing;
    }
    this.#throwFailure();
  }

  /** Never rejects: the next call of `add` or `drain` rejects with the error. */
  async #write(): Promise<void> {
    await this.#gather();
    const batch = this.#queue.splice(0, this.#batchSize);
    try {
      if (!this.#failure) await retryInHalves(batch, (part) => record(part, this.#run));
    } catch (error) {
      this.#failure = { error };
    }
    if (this.#failure) await recordDeletions(batch, this.#failure.error, this.#run);
    for (const { lock } of batch) lock.release();
    this.#unwritten -= batch.length;
    // Only now: a batch that is still being written may be refused as a whole.
    this.#lastBatchSize = batch.length;
    this.#writing = this.#queue.length > 0 ? this.#write() : undefined;
  }

  /** Waits for more outcomes if the service is fast; otherwise only for those that arrive in the same moment. */
  async #gather(): Promise<void> {
    this.#gathering = new AbortController();
    if (this.#lastBatchSize >= FAST_BATCH && !this.#isFull)
      await this.#run.clock.sleep(GATHER_MS, this.#gathering.signal);
    else await Promise.resolve();
  }

  /**
   * The most unrecorded outcomes: after a crash, all their groups are asked for again. If the service is fast, one batch is
   * written while the next one gathers. At first they are fewer, because the store may refuse every token.
   */
  get #limit(): number {
    const most = 2 * this.#batchSize;
    const atFirst = this.#run.concurrency * UNRECORDED_AT_FIRST;
    return this.#lastBatchSize >= FAST_BATCH ? most : Math.min(most, atFirst);
  }

  /** Whether no more outcomes fit into the next batch, or may come before it is written. */
  get #isFull(): boolean {
    return this.#queue.length >= this.#batchSize || this.#unwritten >= this.#limit;
  }

  get #batchSize(): number {
    return this.#run.tokens.tables?.batchSize ?? BATCH;
  }

  #throwFailure(): void {
    if (this.#failure) throw this.#failure.error;
  }
}

/** Writes the tokens first and the ledger second: the ledger must not vouch for a token that isn't stored. */
async function record(batch: readonly Finished[], run: OutcomeRecording): Promise<void> {
  const live: StoredToken[] = batch.flatMap(({ outcome }) =>
    "token" in outcome ? [{ user_group_id: outcome.change.user_group_id, token: outcome.token }] : [],
  );
  const dead = batch.filter(({ outcome }) => outcome.kind === "deleted").map(idOf);
  const shared = await idsWithSharedTokens(live, run);
  const own = live.filter(({ user_group_id }) => !shared.has(user_group_id));
  const [unstored, unremoved] = await Promise.all([storeOutside(own, run), removeOutside(dead, run)]);
  const store = async (transaction: LedgerTransaction): Promise<Refusals> =>
    new Map([
      ...[...shared].map((id) => [id, tokenShared()] as const),
      ...(await storeInTables(own, unstored, transaction, run)),
      ...(await removeFromTables(dead, unremoved, transaction, run)),
    ]);
  let recorded: readonly RecordedOutcome[];
  try {
    recorded = await recordWith(store, batch, run);
  } catch (error) {
    const [only, ...others] = batch;
    if (only === undefined || others.length > 0 || !isRefusal(error)) throw error;
    recorded = await recordWith(async () => new Map([[idOf(only), error]]), batch, run);
  }
  for (const [index, entry] of recorded.entries()) {
    const finished = batch[index];
    if (finished) reportDrift(finished.begun, finished.outcome, run);
    reportOutcome(entry, run);
  }
  insistOnStore(recorded, run);
}

/** Runs `store` and records the outcomes, in one transaction. */
async function recordWith(
  store: (transaction: LedgerTransaction) => Promise<Refusals>,
  batch: readonly Finished[],
  run: OutcomeRecording,
): Promise<readonly RecordedOutcome[]> {
  const now = run.clock.now();
  const service = run.identity.unrecorded;
  const answeredAt = run.identity.unrecordedAnswer;
  const recorded = await run.ledger.write(run.lease, async (transaction) => {
    const refused = await store(transaction);
    if (service || answeredAt) await transaction.recordScope({ service, answeredAt });
    const outcomes = batch.map((finished) => recordedAs(finished, refused.get(idOf(finished)), now, run));
    const events = outcomes.map(
      (entry): EventOf => ({ kind: "ended", user_group_id: idOf(entry), ...entry }),
    );
    const unsure = outcomes.flatMap(({ outcome, notEverywhere }, index) =>
      "token" in outcome && !notEverywhere ? copiesUnsure(batch[index]?.begun.before ?? null, run) : [],
    );
    await transaction.change([...events, ...unsure], now);
    return outcomes;
  });
  if (service) run.identity.recorded(service);
  if (answeredAt) {
    run.identity.answerRecorded(answeredAt);
    run.observe({ kind: "answered", at: answeredAt });
  }
  for (const finished of batch) finished.isRecorded = true;
  return recorded;
}

function recordedAs(
  { begun, outcome }: Finished,
  refusal: SyncError | undefined,
  now: Date,
  run: OutcomeRecording,
): RecordedOutcome {
  if (!refusal) return withRetry({ outcome }, begun, now, run);
  const failure = { code: refusal.code, message: refusal.message };
  if (outcome.kind === "deleted") return withRetry({ outcome, notRemoved: failure }, begun, now, run);
  // The token is not lost: the next sync copies it from a store that has it to the stores that lack it.
  const isSomewhere = refusal.code === "TOKEN_NOT_EVERYWHERE" && "unverified" in outcome;
  if (isSomewhere) return withRetry({ outcome, notEverywhere: failure }, begun, now, run);
  const { change, drift } = { drift: undefined, ...outcome };
  const failed = { kind: "failed", change, failure, mayHaveHappened: true, ...(drift && { drift }) } as const;
  const isShared = refusal.code === "TOKEN_SHARED" && "token" in outcome;
  const more = isShared ? { sharedToken: tokenFingerprint(outcome.token) } : {};
  return withRetry({ outcome: failed, ...more }, begun, now, run);
}

/**
 * Records the deletions of a batch that failed, although the tokens are still stored. For any other change, the next
 * run's GET finds out what happened; after a deletion, that GET would create the group again. Never rejects: the batch's
 * own error is thrown later.
 */
async function recordDeletions(
  batch: readonly Finished[],
  error: unknown,
  run: OutcomeRecording,
): Promise<void> {
  const deleted = batch.filter(({ outcome, isRecorded }) => outcome.kind === "deleted" && !isRecorded);
  if (deleted.length === 0) return;
  const refused = new Map(deleted.map((finished) => [idOf(finished), asSyncError(error)]));
  await recordWith(async () => refused, deleted, run).catch(() => {});
}

const idOf = ({ outcome }: Pick<Finished, "outcome">): string => outcome.change.user_group_id;

/** Throws if the store refuses every token. The refusals are already recorded, and each group waits for its next try. */
function insistOnStore(recorded: readonly RecordedOutcome[], { refusals }: OutcomeRecording): void {
  let error: SyncError | undefined;
  for (const { outcome } of recorded) {
    if ("token" in outcome) refusals.stored();
    else if (outcome.kind === "failed" && outcome.failure.code === "TOKEN_NOT_STORED")
      error = refusals.refused(outcome.change.user_group_id, outcome.failure) ?? error;
  }
  if (error) throw error;
}

function withRetry(
  recorded: Omit<RecordedOutcome, "retryAt">,
  { before }: Begun,
  now: Date,
  { identity }: OutcomeRecording,
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
  // their locks.
  const waitMs = identity.isKnown ? wait : Math.min(wait, LONGEST_WAIT_AT_FIRST);
  return { ...recorded, retryAt: new Date(now.getTime() + waitMs) };
}
