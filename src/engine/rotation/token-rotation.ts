import { waitAfterFailures } from "../../core/failure/backoff.ts";
import type { Failure } from "../../core/failure/sync-error.ts";
import { tokenFingerprint } from "../../core/group/group.ts";
import { intendsRemoval } from "../../core/group/ledger-group.ts";
import type { Secret } from "../../core/secret/secret.ts";
import type { GetAnswer } from "../../ports/group-service.ts";
import type { KnownToken, RotationResult } from "../../ports/ledger/groups.ts";
import type { LedgerTransaction } from "../../ports/ledger/ledger.ts";
import { reportFailure } from "../report/run-report.ts";
import type { CallResult } from "../service/call-with-retries.ts";
import {
  isTokenRefused,
  type ServiceCalling,
  ServiceCalls,
  type Unanswered,
} from "../service/service-calls.ts";
import { retryWhileBusy, type TokenWriting } from "../tokens/retry-batch.ts";
import { hasSharedToken, sharedBy, sharedFailure } from "../tokens/shared-tokens.ts";
import { asRefusal, type LiveTokenWriter } from "./live-token-writer.ts";
import {
  FORGOTTEN,
  NOT_BEGUN,
  newTokenNotStored,
  UNASKABLE,
  type Unsettled,
  whyUnsettled,
} from "./settle-rotations.ts";

/** One group's rotation. */
interface Rotation {
  readonly id: string;
  readonly known: KnownToken;
  readonly calls: ServiceCalls;
  /** A GET was answered: the service has the group as it was last confirmed, and nothing of an earlier run is under way. */
  isAsConfirmed: boolean;
}

interface Begun {
  readonly known: KnownToken | undefined;
  /** The live token, if it was in the store and has been written there again. */
  readonly live?: Secret | undefined;
  readonly refusal?: Failure | undefined;
}

/** A new token that could not be stored, and what to do once it is stored. */
type Unstored = Readonly<{ id: string; tryOnce: () => Promise<Failure | undefined>; stored: () => void }>;

export interface RotationOptions {
  /** Why changes of earlier runs are still under way. */
  readonly unsettled: Unsettled;
  /** Whether a token that an earlier run's rotation made is new enough. */
  readonly acceptsEarlier: boolean;
}

/**
 * Rotates the token of one group: live token → intent, and proof that the store takes a token of this group → POST → token
 * store and ledger. If a POST gets no answer, a GET tells which token is live.
 */
export class TokenRotation {
  readonly #run: ServiceCalling & TokenWriting;
  readonly #tokenWriter: LiveTokenWriter;
  readonly #signal: AbortSignal;
  readonly #options: RotationOptions;
  readonly #unstored: Unstored[] = [];

  constructor(
    run: ServiceCalling & TokenWriting,
    tokenWriter: LiveTokenWriter,
    signal: AbortSignal,
    options: RotationOptions,
  ) {
    this.#run = run;
    this.#tokenWriter = tokenWriter;
    this.#signal = signal;
    this.#options = options;
  }

  /** Resolves to false if the rotation did not begin, because another new token could not be stored. Rejects if the run has to end. */
  async rotate(id: string): Promise<boolean> {
    const { tokens, signal } = this.#run;
    const stored = (await retryWhileBusy(() => tokens.read([id], signal), this.#run)).get(id);
    if (!(await this.#tokenWriter.allStored())) return false;
    const begun = await retryWhileBusy(
      () => this.#write((transaction) => this.#begin(id, stored, transaction)),
      this.#run,
    ).catch((error: unknown) => this.#beginInVain(id, stored, asRefusal(error)));
    const { known } = begun;
    const why = whyUnsettled(known, this.#options.unsettled.get(id));
    if (known === undefined || why) {
      reportFailure(id, why ?? FORGOTTEN, this.#run);
      return true;
    }
    this.#run.recent.add(id, { change: null, token: null });
    const calls = new ServiceCalls(this.#run, this.#signal, known);
    const rotation: Rotation = { id, known, calls, isAsConfirmed: false };
    try {
      await this.#end(rotation, await this.#obtain(rotation, begun));
    } catch (error) {
      // Throw the first error, not one of the withdrawal.
      await this.#withdraw(rotation).catch(() => {});
      throw error;
    }
    calls.endRunIfDue();
    return true;
  }

  /** Tries a last time to store the new tokens that could not be stored. */
  async tryOnceMore(): Promise<void> {
    const tries = this.#unstored.splice(0).map(async ({ id, tryOnce, stored }) => {
      if (await tryOnce()) return;
      this.#run.tally.madeGood(id);
      stored();
    });
    const failed = (await Promise.allSettled(tries)).find((result) => result.status === "rejected");
    if (failed) throw failed.reason;
  }

  /** Records the intent. If the stored token is live, writes it again in the same transaction, as a proof of the store. */
  async #begin(id: string, stored: Secret | undefined, transaction: LedgerTransaction): Promise<Begun> {
    const known = await transaction.beginRotation(id, this.#run.clock.now());
    // A stored token that the ledger doesn't know may belong to another group. After an interrupted rotation, no stored token
    // can be relied on.
    const isLive = known !== undefined && stored !== undefined && isOf(stored, known);
    if (!isLive || known.intent === "rotate" || intendsRemoval(known.intent)) return { known };
    const refusal = await this.#tokenWriter.rewrite({ user_group_id: id, token: stored }, transaction);
    return { known, live: stored, refusal };
  }

  /** Records the intent alone, after the write of the stored token made the transaction of `#begin` fail. */
  async #beginInVain(id: string, live: Secret | undefined, refusal: Failure): Promise<Begun> {
    const known = await this.#write((transaction) => transaction.beginRotation(id, this.#run.clock.now()));
    return { known, live, refusal };
  }

  async #obtain(rotation: Rotation, { live, refusal }: Begun): Promise<RotationOutcome> {
    const { id, known } = rotation;
    if (live) {
      const failure = refusal ?? (await this.#tokenWriter.readBack({ user_group_id: id, token: live }));
      return failure ? { kind: "not proved", failure, isOpen: false } : this.#exchange(rotation, live);
    }
    const found = await this.#ask(rotation);
    if (found === undefined) return { kind: "failed", failure: UNASKABLE, isOpen: known.intent !== null };
    if (found.kind !== "answered") return unanswered(found, known.intent !== null);
    const { isNew, group } = found.answer;
    const wasRotated = known.intent === "rotate" && !isOf(group.token, known);
    if (isNew || (wasRotated && this.#options.acceptsEarlier)) return { kind: "done", token: group.token };
    return this.#proveAndExchange(rotation, group.token);
  }

  /** If the live token can't be stored, the rotation stays open: the next sync asks for the token. */
  async #proveAndExchange(rotation: Rotation, live: Secret): Promise<RotationOutcome> {
    const { id, known } = rotation;
    if (await hasSharedToken({ user_group_id: id, token: live }, this.#run)) return failedBySharedToken(live);
    const isKnown = isOf(live, known);
    if (!(await this.#tokenWriter.allStored())) return { kind: "failed", failure: NOT_BEGUN, isOpen: true };
    const failure = await this.#tokenWriter.prove({ user_group_id: id, token: live }, async (transaction) => {
      // Record a live token that the ledger has never seen: after a leak, operators ask when which token was live.
      const result = { failure: null, isOpen: true };
      if (!isKnown) await this.#record(id, live, result, transaction);
    });
    if (failure) return { kind: "not proved", failure, isOpen: true };
    return this.#exchange(rotation, live);
  }

  /** Sends the POST. Sends a second POST if another program has changed the token meanwhile. */
  async #exchange(rotation: Rotation, live: Secret, isLast = false): Promise<RotationOutcome> {
    const { id, calls } = rotation;
    const posted = await calls.rotate(id, live);
    if (posted.kind === "answered") return { kind: "done", token: posted.answer.token };
    if (posted.kind === "interrupted") return { kind: "left" };
    const { failure: refusal, mayHaveHappened } = posted;
    // A refused token may be dead, and after the second POST the live token is stored nowhere: until a GET returns it, every
    // sync asks for it.
    const isOpen = mayHaveHappened || isLast || isTokenRefused(refusal);
    // Copy the fields: spreading an error loses its message.
    const failure: Failure = { code: refusal.code, message: refusal.message };
    if (refusal.code === "TOKEN_SHARED")
      return isLast ? failedBySharedToken(live) : { kind: "failed", failure, isOpen };
    const found = await this.#ask(rotation, { isFollowUp: true });
    if (found?.kind === "answered") {
      const { isNew, group } = found.answer;
      const isAnother = !group.token.equals(live);
      if (isNew || (mayHaveHappened && isAnother)) return { kind: "done", token: group.token };
      if (isAnother && !isLast) return this.#exchange(rotation, group.token, true);
      if (isTokenRefused(refusal)) await calls.rotationRefused(id, refusal, true);
      return { kind: "failed", failure, live: group.token, isOpen: mayHaveHappened };
    }
    if (found === undefined && isTokenRefused(refusal)) {
      if (!(await calls.rotationRefused(id, refusal, false))) return { kind: "left" };
    }
    return { kind: "failed", failure, isOpen };
  }

  /**
   * Asks by GET which token is live. The GET creates the group again if it is gone. Resolves to undefined if the group's
   * confirmed state isn't known: then a GET could change the group.
   */
  async #ask(
    rotation: Rotation,
    options?: { isFollowUp: boolean },
  ): Promise<CallResult<GetAnswer> | undefined> {
    const { id, calls } = rotation;
    const group = (await this.#run.ledger.confirmed([id])).get(id);
    if (group === undefined) return undefined;
    const found = await calls.getOrCreate(group, options);
    rotation.isAsConfirmed ||= found.kind === "answered";
    return found;
  }

  #end(rotation: Rotation, rotated: RotationOutcome): Promise<void> {
    switch (rotated.kind) {
      case "done":
        return this.#keep(rotation, rotated.token);
      case "failed":
        return this.#recordFailure(rotation, rotated);
      case "not proved":
        return this.#recordNotStored(rotation, rotated.failure, rotated.isOpen);
      case "left":
        return this.#withdraw(rotation);
    }
  }

  #keep(rotation: Rotation, token: Secret): Promise<void> {
    const { tally, observe } = this.#run;
    return this.#store(rotation, token, { failure: null, isOpen: staysUnderWay(rotation) }, () => {
      tally.counts.rotated++;
      observe({
        kind: "rotated",
        user_group_id: rotation.id,
        tokenFingerprint: tokenFingerprint(token),
        formerTokenFingerprint: rotation.known.tokenFingerprint,
      });
    });
  }

  async #recordFailure(
    rotation: Rotation,
    { kind: _, failure, live, isOpen: mayHaveHappened, ...shared }: Failed,
  ): Promise<void> {
    const { id, known } = rotation;
    const isOpen = mayHaveHappened || staysUnderWay(rotation);
    if (!mayHaveHappened || (live && isOf(live, known))) this.#run.tally.keptTokens.add(id);
    const retryAt = this.#nextTry(known.failures.rotation + 1);
    const result = { failure: { ...failure, retryAt }, isOpen, ...shared };
    const report = (): void => reportFailure(id, failure, this.#run);
    if (live) return this.#store(rotation, live, result, report);
    await this.#write((transaction) => this.#record(id, null, result, transaction));
    report();
  }

  /** If the token can't be stored, the rotation stays open: the next sync asks for the token. */
  async #store(
    rotation: Rotation,
    token: Secret,
    result: Pick<RotationResult, "failure" | "isOpen">,
    stored: () => void,
  ): Promise<void> {
    const { id } = rotation;
    const entry = { user_group_id: id, token };
    const record = (transaction: LedgerTransaction) => this.#record(id, token, result, transaction);
    const refusal = await this.#tokenWriter.store(entry, record);
    if (refusal === undefined) return stored();
    if (refusal.code === "TOKEN_SHARED") return this.#recordFailure(rotation, failedBySharedToken(token));
    await this.#recordNotStored(rotation, newTokenNotStored(refusal), true);
    this.#unstored.push({ id, tryOnce: () => this.#tokenWriter.tryOnce(entry, record), stored });
  }

  /** The fault lies with the store, not with the rotation: the failure ends once a store takes the token. */
  async #recordNotStored({ id, known }: Rotation, failure: Failure, isOpen: boolean): Promise<void> {
    const count = known.failures.storing + 1;
    const again = { ...failure, count, retryAt: this.#nextTry(count) };
    await this.#write(async (transaction) => {
      await transaction.recordStored([{ user_group_id: id, failure: again }], this.#run.clock.now());
      if (!isOpen) await transaction.withdrawRotation(id);
    });
    if (!isOpen) this.#run.tally.keptTokens.add(id);
    reportFailure(id, failure, this.#run);
  }

  #nextTry(failures: number): Date {
    return new Date(this.#run.clock.now().getTime() + waitAfterFailures(failures));
  }

  #record(
    id: string,
    token: Secret | null,
    result: Pick<RotationResult, "failure" | "isOpen" | "sharedToken">,
    transaction: LedgerTransaction,
  ): Promise<void> {
    const fingerprint = token && tokenFingerprint(token);
    return transaction.recordRotation(
      { user_group_id: id, tokenFingerprint: fingerprint, ...result },
      this.#run.clock.now(),
    );
  }

  /** Keeps the intent if a call may have been sent: the next run then asks for the live token. */
  async #withdraw({ id, calls }: Rotation): Promise<void> {
    if (calls.mayHaveHappened || this.#run.lease.lost.aborted) return;
    await this.#write((transaction) => transaction.withdrawRotation(id));
    this.#run.recent.forget(id);
  }

  #write<T>(body: (transaction: LedgerTransaction) => Promise<T>): Promise<T> {
    const { ledger, lease } = this.#run;
    return ledger.write(lease, body);
  }
}

const isOf = (token: Secret, { tokenFingerprint: known }: KnownToken): boolean =>
  tokenFingerprint(token) === known;

/** Whether an earlier run's update stays under way: only a GET can settle it. */
const staysUnderWay = ({ known, isAsConfirmed }: Rotation): boolean =>
  known.intent === "apply" && !isAsConfirmed;

interface Failed {
  readonly kind: "failed";
  readonly failure: Failure;
  /** The live token, if it is known and has to be stored. */
  readonly live?: Secret;
  /** See `RotationResult`. */
  readonly sharedToken?: string;
  /** A POST may have changed the token, or the live token isn't stored: the intent stays. */
  readonly isOpen: boolean;
}

/** The result of the calls of one rotation. */
type RotationOutcome =
  | { readonly kind: "done"; readonly token: Secret }
  | Failed
  /** No store has shown that it takes a token of this group, so no POST was sent. */
  | { readonly kind: "not proved"; readonly failure: Failure; readonly isOpen: boolean }
  /** Left to the next run, because this run is ending. */
  | { readonly kind: "left" };

/** The service returned a token that belongs to another group. The next run asks again. */
function failedBySharedToken(token: Secret): Failed {
  const failure = sharedFailure();
  return { kind: "failed", failure, ...sharedBy(failure, token), isOpen: true };
}

/** The outcome if the GET for the live token was not answered. */
function unanswered(called: Unanswered, isOpen: boolean): RotationOutcome {
  if (called.kind === "interrupted") return { kind: "left" };
  const { code, message } = called.failure;
  return { kind: "failed", failure: { code, message }, isOpen };
}
