import { waitAfterFailures } from "../core/backoff.ts";
import { isForToken } from "../core/change.ts";
import { asSyncError, type SyncError } from "../core/errors.ts";
import { tokenFingerprint } from "../core/group.ts";
import type { Outcome } from "../core/outcome.ts";
import type { Begun, LedgerTransaction, RecordedOutcome } from "../ports/ledger.ts";
import type { ChangeOptions, StoredToken } from "../ports/token-store.ts";
import { inPortions, isRefusal } from "./portions.ts";
import type { Run } from "./run.ts";
import { sharedBy, tokenShared, tokensOfOthers } from "./shared-tokens.ts";
import { tellFailure } from "./tell-failure.ts";

const LONGEST_WAIT_AT_FIRST = 10 * 60_000;
/** Tokens written together: a transaction of the ledger is open meanwhile, and a secret store needs a call for each. */
export const WRITTEN_TOGETHER = 64;

interface Finished {
  readonly begun: Begun;
  readonly outcome: Outcome;
  isRecorded: boolean;
}

/**
 * Writes outcomes to the token store and the ledger, as many at a time as have come together while the
 * last ones were being written: one by one with a slow service, in large batches with a fast one.
 */
export class Recorder {
  readonly #run: Run;
  readonly #limit: number;
  readonly #queue: Finished[] = [];
  /** Answered and not written: those in the queue and those in the batch under way. */
  #unwritten = 0;
  #writing: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(run: Run) {
    this.#run = run;
    // After a crash these are asked for again: few enough to be "in flight", enough to fill two batches.
    this.#limit = run.concurrency * 8;
  }

  /** Takes an outcome, and waits while too many are not written yet. Rejects once writing has failed. */
  async add(begun: Begun, outcome: Outcome): Promise<void> {
    this.#queue.push({ begun, outcome, isRecorded: false });
    this.#unwritten++;
    this.#writing ??= this.#write();
    while (this.#unwritten >= this.#limit && this.#writing !== undefined) await this.#writing;
    this.#throwFailure();
  }

  /** Waits until everything is written. */
  async drain(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
    this.#throwFailure();
  }

  /** Never rejects: the failure is for whoever adds or drains next. */
  async #write(): Promise<void> {
    // Lets the answers that arrived together be written together.
    await Promise.resolve();
    const batch = this.#queue.splice(0, WRITTEN_TOGETHER);
    try {
      if (!this.#failure) await inPortions(batch, (portion) => record(portion, this.#run), this.#run);
    } catch (error) {
      this.#failure = { error };
    }
    if (this.#failure) await recordDeletions(batch, this.#failure.error, this.#run);
    this.#unwritten -= batch.length;
    this.#writing = this.#queue.length > 0 ? this.#write() : undefined;
  }

  #throwFailure(): void {
    if (this.#failure) throw this.#failure.error;
  }
}

/** Tokens first, ledger second: a token that the ledger vouches for is in the store, and no other. */
async function record(batch: readonly Finished[], run: Run): Promise<void> {
  const live: StoredToken[] = batch.flatMap(({ outcome }) =>
    "token" in outcome ? [{ user_group_id: outcome.change.user_group_id, token: outcome.token }] : [],
  );
  const dead = batch.flatMap(({ outcome }) =>
    outcome.kind === "deleted" ? [outcome.change.user_group_id] : [],
  );
  const shared = await tokensOfOthers(live, run);
  const own = live.filter(({ user_group_id }) => !shared.has(user_group_id));
  const store = async (transaction: LedgerTransaction): Promise<Refused> => {
    const options: ChangeOptions = { assertHeld: () => run.lease.assertHeld(), signal: run.signal };
    return new Map([
      ...[...shared].map((id) => [id, tokenShared()] as const),
      ...(own.length > 0 ? await run.tokens.write(own, transaction, options) : []),
      ...(dead.length > 0 ? await run.tokens.remove(dead, transaction, options) : []),
    ]);
  };
  let recorded: readonly RecordedOutcome[];
  try {
    recorded = await recordWith(store, batch, run);
  } catch (error) {
    const [only, ...others] = batch;
    if (only === undefined || others.length > 0 || !isRefusal(error)) throw error;
    recorded = await recordWith(async () => new Map([[idOf(only), error]]), batch, run);
  }
  for (const entry of recorded) tell(entry, run);
  insistOnStore(recorded, run);
}

/** Ids to the reasons why their tokens were not stored, or not removed. */
type Refused = ReadonlyMap<string, SyncError>;

/** In one transaction with what `store` does. */
async function recordWith(
  store: (transaction: LedgerTransaction) => Promise<Refused>,
  batch: readonly Finished[],
  run: Run,
): Promise<readonly RecordedOutcome[]> {
  const now = run.clock.now();
  const service = run.identity.unrecorded;
  const recorded = await run.ledger.write(run.lease, async (transaction) => {
    if (service) await transaction.bindService(service);
    const refused = await store(transaction);
    const outcomes = batch.map((finished) => recordedAs(finished, refused.get(idOf(finished)), now, run));
    await transaction.record(outcomes, now);
    return outcomes;
  });
  if (service) run.identity.recorded(service);
  for (const finished of batch) finished.isRecorded = true;
  for (const entry of recorded) remember(entry, run);
  return recorded;
}

function recordedAs(
  { begun, outcome }: Finished,
  refusal: SyncError | undefined,
  now: Date,
  run: Run,
): RecordedOutcome {
  if (!refusal) return withRetry({ outcome }, begun, now, run);
  const failure = { code: refusal.code, message: refusal.message };
  if (outcome.kind === "deleted") return withRetry({ outcome, notRemoved: failure }, begun, now, run);
  // The token is not lost: from where it is, the next sync takes it to where it isn't.
  const isSomewhere = refusal.code === "TOKEN_NOT_EVERYWHERE" && "unverified" in outcome;
  if (isSomewhere) return withRetry({ outcome, notEverywhere: failure }, begun, now, run);
  const failed = { kind: "failed", change: outcome.change, failure, mayHaveHappened: true } as const;
  const more = "token" in outcome ? sharedBy(refusal, outcome.token) : {};
  return withRetry({ outcome: failed, ...more }, begun, now, run);
}

/**
 * A GET tells the next run what became of a group that was made, and would make one again that was deleted: what is
 * deleted is recorded, though its token couldn't be removed. Never rejects: the first error is the one that matters.
 */
async function recordDeletions(batch: readonly Finished[], error: unknown, run: Run): Promise<void> {
  const deleted = batch.filter(({ outcome, isRecorded }) => outcome.kind === "deleted" && !isRecorded);
  if (deleted.length === 0) return;
  const refused = new Map(deleted.map((finished) => [idOf(finished), asSyncError(error)]));
  await recordWith(async () => refused, deleted, run).catch(() => {});
}

const idOf = ({ outcome }: Finished): string => outcome.change.user_group_id;

/** Throws where the store takes no token at all: what was refused is recorded by then, and waits for its next try. */
function insistOnStore(recorded: readonly RecordedOutcome[], { refusals }: Run): void {
  let error: SyncError | undefined;
  for (const { outcome } of recorded) {
    if ("token" in outcome) refusals.stored();
    else if (outcome.kind === "failed" && outcome.failure.code === "TOKEN_NOT_STORED")
      error = refusals.refused(outcome.change.user_group_id, outcome.failure) ?? error;
  }
  if (error) throw error;
}

/** If its commit were lost, nobody would ask for a stored token, or for a group that may have been made. */
function remember({ outcome, notEverywhere }: RecordedOutcome, { recent }: Run): void {
  const { change } = outcome;
  const { user_group_id } = change;
  const isAtRest = "unverified" in outcome && notEverywhere === undefined;
  if (isAtRest) recent.add(user_group_id, { change, token: { user_group_id, token: outcome.token } });
  else if (outcome.kind === "failed" && outcome.mayHaveHappened)
    recent.add(user_group_id, { change, token: null });
  else recent.forget(user_group_id);
}

function withRetry(
  recorded: Omit<RecordedOutcome, "retryAt">,
  { before }: Begun,
  now: Date,
  { identity }: Run,
): RecordedOutcome {
  const { outcome, notEverywhere, notRemoved } = recorded;
  const isDone = outcome.kind !== "failed" && outcome.kind !== "not_updated";
  if (isDone && notEverywhere === undefined && notRemoved === undefined) return recorded;
  const isOfCopies = notEverywhere !== undefined || (outcome.kind === "failed" && isForToken(outcome.change));
  const failures = isOfCopies ? before?.copiesFailures : before?.failures;
  const wait = waitAfterFailures((failures ?? 0) + 1);
  // What has never answered well may be no such service: once that is mended, no group should wait for long. But until
  // then those that always fail must not keep all others from their turn.
  const waitMs = identity.isKnown ? wait : Math.min(wait, LONGEST_WAIT_AT_FIRST);
  return { ...recorded, retryAt: new Date(now.getTime() + waitMs) };
}

function tell({ outcome, notEverywhere, notRemoved }: RecordedOutcome, run: Run): void {
  const { tally, observe } = run;
  const { user_group_id } = outcome.change;
  const failure = notEverywhere ?? notRemoved;
  if (failure) {
    tellFailure(user_group_id, failure, run);
    return;
  }
  switch (outcome.kind) {
    case "failed":
    case "not_updated":
      tellFailure(user_group_id, outcome.failure, run);
      return;
    case "deleted":
      tally.counts.deleted++;
      observe({ kind: "deleted", user_group_id, absence: outcome.change.absence });
      return;
    case "created":
    case "adopted":
    case "updated":
    case "replaced": {
      const { change, unverified } = outcome;
      if (outcome.kind === "updated" && isForToken(change)) {
        tally.counts.restored++;
        observe({ kind: "restored", user_group_id });
        return;
      }
      tally.counts[outcome.kind]++;
      if (unverified) tally.counts.unverified++;
      const token = tokenFingerprint(outcome.token);
      observe({ kind: "recorded", user_group_id, result: outcome.kind, unverified, token });
    }
  }
}
