import { waitAfterFailures } from "../core/backoff.ts";
import { tokenFingerprint } from "../core/group.ts";
import type { Failure } from "../core/outcome.ts";
import type { Secret } from "../core/secret.ts";
import type { KnownToken, LedgerTransaction, RotationResult } from "../ports/ledger.ts";
import type { CallResult } from "./call.ts";
import { bareGroup } from "./delete.ts";
import type { Run } from "./run.ts";
import { type Answer, isTokenRefused, ServiceCalls, type Unanswered } from "./service-calls.ts";
import { tellFailure } from "./tell-failure.ts";
import type { TokenKeeper } from "./token-keeper.ts";

/** What became of a rotation's calls. */
type Rotated =
  | { readonly kind: "done"; readonly token: Secret }
  | {
      readonly kind: "failed";
      readonly failure: Failure;
      /** The live token, where it is known. */
      readonly live?: Secret;
      /** A POST may have its effect yet. */
      readonly isOpen: boolean;
    }
  /** Not made, because the run is ending. */
  | { readonly kind: "left" };

/**
 * Rotates one token at a time: intent → live token → proof that the store takes one → POST → token store and ledger.
 * Whatever becomes of a POST, a GET tells which token is live.
 */
export class TokenRotation {
  readonly #run: Run;
  readonly #keeper: TokenKeeper;
  readonly #signal: AbortSignal;

  constructor(run: Run, keeper: TokenKeeper, signal: AbortSignal) {
    this.#run = run;
    this.#keeper = keeper;
    this.#signal = signal;
  }

  /** Rejects where the run has to end. */
  async rotate(id: string): Promise<void> {
    await this.#keeper.allStored();
    const known = await this.#write((transaction) => transaction.beginRotation(id, this.#run.clock.now()));
    if (known === undefined) return;
    if (known.intent !== null && known.intent !== "rotate") return tellFailure(id, UNSETTLED, this.#run);
    const calls = new ServiceCalls(this.#run, this.#signal, known);
    try {
      const rotated = await this.#obtain(id, known, calls);
      switch (rotated.kind) {
        case "done":
          return await this.#keep(id, known, rotated.token);
        case "failed":
          return await this.#recordFailure(id, known, rotated);
        case "left":
          return await this.#withdraw(id, calls);
      }
    } catch (error) {
      // The first error is the one that matters.
      await this.#withdraw(id, calls).catch(() => {});
      throw error;
    }
  }

  async #obtain(id: string, known: KnownToken, calls: ServiceCalls): Promise<Rotated> {
    const stored = (await this.#run.tokens.read([id])).get(id);
    // A token that is not the one the ledger knows may be anybody's; and after a crash none can be relied on.
    if (stored && known.intent === null && isOf(stored, known))
      return this.#proveAndExchange(id, stored, calls);
    const found = await this.#ask(id, calls);
    if (found.kind !== "answered") return unanswered(found, known.intent !== null);
    const { isNew, group } = found.answer;
    const wasRotated = known.intent === "rotate" && !isOf(group.token, known);
    if (isNew || wasRotated) return { kind: "done", token: group.token };
    return this.#proveAndExchange(id, group.token, calls);
  }

  /** A store that takes the tokens of others may refuse this one: once the old one is dead, that is too late to know. */
  async #proveAndExchange(id: string, live: Secret, calls: ServiceCalls): Promise<Rotated> {
    const token = { user_group_id: id, token: live };
    if (!this.#keeper.isProven || !(await this.#keeper.holds(token))) {
      const refusal = await this.#keeper.prove(token);
      if (refusal) return { kind: "failed", failure: refusal, isOpen: false };
    }
    return this.#exchange(id, live, calls);
  }

  /** POST; and once more where somebody else has made another token meanwhile. */
  async #exchange(id: string, live: Secret, calls: ServiceCalls, isLast = false): Promise<Rotated> {
    const posted = await calls.rotate(id, live);
    if (posted.kind === "answered") return { kind: "done", token: posted.answer.token };
    if (posted.kind === "interrupted") return { kind: "left" };
    const { failure: refusal, mayHaveHappened: isOpen } = posted;
    // Its message would be lost where an error is spread.
    const failure: Failure = { code: refusal.code, message: refusal.message };
    const found = await this.#ask(id, calls, { isFollowUp: true });
    if (found.kind !== "answered") return { kind: "failed", failure, isOpen };
    const { isNew, group } = found.answer;
    const isAnother = !group.token.equals(live);
    if (isNew || (isOpen && isAnother)) return { kind: "done", token: group.token };
    if (isAnother && !isLast) return this.#exchange(id, group.token, calls, true);
    if (isTokenRefused(refusal)) calls.rotationRefused(refusal);
    return { kind: "failed", failure, live: group.token, isOpen };
  }

  /** GET: which token is live. It makes the group again where that is gone. */
  async #ask(
    id: string,
    calls: ServiceCalls,
    options?: { isFollowUp: boolean },
  ): Promise<CallResult<Answer>> {
    const confirmed = await this.#run.ledger.confirmed([id]);
    return calls.getOrCreate(confirmed.get(id) ?? bareGroup(id), options);
  }

  async #keep(id: string, known: KnownToken, token: Secret): Promise<void> {
    const fingerprint = tokenFingerprint(token);
    await this.#store(token, {
      user_group_id: id,
      tokenFingerprint: fingerprint,
      failure: null,
      isOpen: false,
    });
    const { tally, observe } = this.#run;
    tally.counts.rotated++;
    observe({ kind: "rotated", user_group_id: id, token: fingerprint, formerToken: known.tokenFingerprint });
  }

  async #recordFailure(
    id: string,
    known: KnownToken,
    { failure, live, isOpen }: Extract<Rotated, { kind: "failed" }>,
  ): Promise<void> {
    const retryAt = new Date(this.#run.clock.now().getTime() + waitAfterFailures(known.failures + 1));
    const result = { user_group_id: id, failure: { ...failure, retryAt }, isOpen };
    if (live === undefined) {
      await this.#write((transaction) => this.#record({ ...result, tokenFingerprint: null }, transaction));
    } else {
      await this.#store(live, { ...result, tokenFingerprint: tokenFingerprint(live) });
    }
    tellFailure(id, failure, this.#run);
  }

  #store(token: Secret, result: RotationResult): Promise<void> {
    const { user_group_id } = result;
    return this.#keeper.store({ user_group_id, token }, (transaction) => this.#record(result, transaction));
  }

  #record(result: RotationResult, transaction: LedgerTransaction): Promise<void> {
    return transaction.recordRotation(result, this.#run.clock.now());
  }

  /** Where a call may have been sent the intent stays, and the next run asks what became of it. */
  async #withdraw(id: string, calls: ServiceCalls): Promise<void> {
    if (calls.mayHaveHappened || this.#run.lease.lost.aborted) return;
    await this.#write((transaction) => transaction.withdrawRotation(id));
  }

  #write<T>(body: (transaction: LedgerTransaction) => Promise<T>): Promise<T> {
    const { ledger, lease } = this.#run;
    return ledger.write(lease, body);
  }
}

const isOf = (token: Secret, { tokenFingerprint: known }: KnownToken): boolean =>
  tokenFingerprint(token) === known;

function unanswered(called: Unanswered, isOpen: boolean): Rotated {
  if (called.kind === "interrupted") return { kind: "left" };
  const { code, message } = called.failure;
  return { kind: "failed", failure: { code, message }, isOpen };
}

const UNSETTLED: Failure = {
  code: "UNSETTLED",
  message: "an earlier run left another change of this group under way; a sync settles it first",
};
