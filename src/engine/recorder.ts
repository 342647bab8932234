import { waitAfterFailures } from "../core/backoff.ts";
import { tokenFingerprint } from "../core/group.ts";
import type { Outcome } from "../core/outcome.ts";
import type { Begun, LedgerTransaction, RecordedOutcome } from "../ports/ledger.ts";
import type { ChangeOptions, StoredToken } from "../ports/token-store.ts";
import { inPortions } from "./portions.ts";
import type { Run } from "./run.ts";
import { tellFailure } from "./tell-failure.ts";

const LONGEST_WAIT_AT_FIRST = 10 * 60_000;
/** Tokens written together: a transaction of the ledger is open meanwhile, and a secret store needs a call for each. */
export const WRITTEN_TOGETHER = 64;

interface Finished {
  readonly begun: Begun;
  readonly outcome: Outcome;
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
    this.#queue.push({ begun, outcome });
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
    this.#unwritten -= batch.length;
    this.#writing = this.#queue.length > 0 ? this.#write() : undefined;
  }

  #throwFailure(): void {
    if (this.#failure) throw this.#failure.error;
  }
}

/** Tokens first, ledger second: a token that the ledger vouches for is in the store, and no other. */
async function record(batch: readonly Finished[], run: Run): Promise<void> {
  const now = run.clock.now();
  const live: StoredToken[] = batch.flatMap(({ outcome }) =>
    "token" in outcome ? [{ user_group_id: outcome.change.user_group_id, token: outcome.token }] : [],
  );
  const dead = batch.flatMap(({ outcome }) =>
    outcome.kind === "deleted" ? [outcome.change.user_group_id] : [],
  );
  const service = run.identity.unrecorded;
  const write = async (transaction: LedgerTransaction): Promise<readonly RecordedOutcome[]> => {
    if (service) await transaction.bindService(service);
    const options: ChangeOptions = { assertHeld: () => run.lease.assertHeld(), signal: run.signal };
    const refused = new Map([
      ...(live.length > 0 ? await run.tokens.write(live, transaction, options) : []),
      ...(dead.length > 0 ? await run.tokens.remove(dead, transaction, options) : []),
    ]);
    const outcomes = batch.map(({ begun, outcome }): RecordedOutcome => {
      const { change } = outcome;
      const refusal = refused.get(change.user_group_id);
      if (!refusal) return withRetry({ outcome }, begun, now, run);
      const failure = { code: refusal.code, message: refusal.message };
      // The token is not lost: from where it is, the next sync takes it to where it isn't.
      const isSomewhere = refusal.code === "TOKEN_NOT_EVERYWHERE" && "unverified" in outcome;
      if (isSomewhere) return withRetry({ outcome, notEverywhere: failure }, begun, now, run);
      const failed = { kind: "failed", change, failure, mayHaveHappened: true } as const;
      return withRetry({ outcome: failed }, begun, now, run);
    });
    await transaction.record(outcomes, now);
    return outcomes;
  };
  const recorded = await run.ledger.write(run.lease, write);
  if (service) run.identity.recorded(service);
  for (const entry of recorded) tell(entry, run);
}

function withRetry(
  recorded: Omit<RecordedOutcome, "retryAt">,
  { before }: Begun,
  now: Date,
  { identity }: Run,
): RecordedOutcome {
  const { outcome, notEverywhere } = recorded;
  const isDone = outcome.kind !== "failed" && outcome.kind !== "not_updated";
  if (isDone && notEverywhere === undefined) return recorded;
  const wait = waitAfterFailures((before?.failures ?? 0) + 1);
  // What has never answered well may be no such service: once that is mended, no group should wait for long. But until
  // then those that always fail must not keep all others from their turn.
  const waitMs = identity.isKnown ? wait : Math.min(wait, LONGEST_WAIT_AT_FIRST);
  return { ...recorded, retryAt: new Date(now.getTime() + waitMs) };
}

function tell({ outcome, notEverywhere }: RecordedOutcome, run: Run): void {
  const { tally, observe } = run;
  const { user_group_id } = outcome.change;
  if (notEverywhere) {
    tellFailure(user_group_id, notEverywhere, run);
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
      const { unverified } = outcome;
      tally.counts[outcome.kind]++;
      if (unverified) tally.counts.unverified++;
      const token = tokenFingerprint(outcome.token);
      observe({ kind: "recorded", user_group_id, result: outcome.kind, unverified, token });
    }
  }
}
