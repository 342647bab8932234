import { waitAfterFailures } from "../core/backoff.ts";
import { tokenFingerprint } from "../core/group.ts";
import type { Outcome } from "../core/outcome.ts";
import type { Begun, RecordedOutcome } from "../ports/ledger.ts";
import type { StoredToken } from "../ports/token-store.ts";
import type { Run } from "./run.ts";

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
  #queue: Finished[] = [];
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
    const batch = this.#queue;
    this.#queue = [];
    try {
      if (!this.#failure) await record(batch, this.#run);
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

/** Tokens first, ledger second: a token that the ledger vouches for is in the store. */
async function record(batch: readonly Finished[], run: Run): Promise<void> {
  const now = run.clock.now();
  const tokens: StoredToken[] = batch.flatMap(({ outcome }) =>
    outcome.kind === "failed" ? [] : [{ user_group_id: outcome.apply.user_group_id, token: outcome.token }],
  );
  const service = run.identity.takeChange();
  const recorded = await run.ledger.write(run.lease, async (transaction) => {
    if (service) await transaction.bindService(service);
    const refused = tokens.length > 0 ? await run.tokens.write(tokens, transaction) : new Map();
    const outcomes = batch.map(({ begun, outcome }): RecordedOutcome => {
      const refusal = refused.get(outcome.apply.user_group_id);
      if (!refusal) return withRetry(outcome, begun, now);
      const failure = { code: refusal.code, message: refusal.message };
      return withRetry({ kind: "failed", apply: outcome.apply, failure, mayHaveHappened: true }, begun, now);
    });
    await transaction.record(outcomes, now);
    return outcomes;
  });
  for (const { outcome } of recorded) tell(outcome, run);
}

function withRetry(outcome: Outcome, begun: Begun, now: Date): RecordedOutcome {
  if (outcome.kind !== "failed" && outcome.kind !== "not_updated") return { outcome };
  return { outcome, retryAt: new Date(now.getTime() + waitAfterFailures(begun.failures + 1)) };
}

function tell(outcome: Outcome, { tally, observe }: Run): void {
  const { user_group_id } = outcome.apply;
  if (outcome.kind === "failed" || outcome.kind === "not_updated") {
    tally.counts.failed++;
    tally.report(user_group_id, outcome.failure);
    observe({ kind: "failed", user_group_id, ...outcome.failure });
    return;
  }
  tally.counts[outcome.kind]++;
  if (outcome.unverified) tally.counts.unverified++;
  observe({
    kind: "recorded",
    user_group_id,
    result: outcome.kind,
    unverified: outcome.unverified,
    token: tokenFingerprint(outcome.token),
  });
}
