import { waitAfterFailures } from "../core/backoff.ts";
import { tokenFingerprint } from "../core/group.ts";
import { intendsRemoval } from "../core/ledger-group.ts";
import type { Failure } from "../core/outcome.ts";
import type { Secret } from "../core/secret.ts";
import type { LedgerTransaction } from "../ports/ledger.ts";
import type { KnownToken, RotationResult } from "../ports/rotation.ts";
import type { CallResult } from "./call.ts";
import { patiently } from "./patient-tokens.ts";
import { type Failed, type Rotated, sharedWith, unanswered } from "./rotated.ts";
import { FORGOTTEN, NOT_BEGUN, newTokenNotStored, UNASKABLE, unsettled } from "./rotation-failures.ts";
import type { Run } from "./run.ts";
import { type Answer, isTokenRefused, ServiceCalls } from "./service-calls.ts";
import type { Unsettled } from "./settle.ts";
import { isOfAnother } from "./shared-tokens.ts";
import { tellFailure } from "./tell-failure.ts";
import { asRefusal, type TokenKeeper } from "./token-keeper.ts";

/** One group's rotation. */
interface Rotation {
  readonly id: string;
  readonly known: KnownToken;
  readonly calls: ServiceCalls;
  /** A GET was answered: the service has the group as it was confirmed last, whatever an earlier run has begun. */
  isAsConfirmed: boolean;
}

interface Begun {
  readonly known: KnownToken | undefined;
  /** The live token, where it is the stored one, and the store was asked to take it again. */
  readonly live?: Secret | undefined;
  readonly refusal?: Failure | undefined;
}

/** A new token that was given up, and what is to be done once it is stored. */
type Unstored = Readonly<{ id: string; tryOnce: () => Promise<Failure | undefined>; stored: () => void }>;

export interface RotationOptions {
  /** Why changes of earlier runs are under way still. */
  readonly unsettled: Unsettled;
  /** A token that an earlier run's rotation has made is new enough. */
  readonly acceptsEarlier: boolean;
}

/**
 * Rotates one token at a time: live token → intent, and proof that the store takes one of this very group → POST → token
 * store and ledger. Whatever becomes of a POST, a GET tells which token is live.
 */
export class TokenRotation {
  readonly #run: Run;
  readonly #keeper: TokenKeeper;
  readonly #signal: AbortSignal;
  readonly #options: RotationOptions;
  readonly #unstored: Unstored[] = [];

  constructor(run: Run, keeper: TokenKeeper, signal: AbortSignal, options: RotationOptions) {
    this.#run = run;
    this.#keeper = keeper;
    this.#signal = signal;
    this.#options = options;
  }

  /** Resolves to whether it was begun: no token is made any more once one could not be stored. Rejects where the run has to end. */
  async rotate(id: string): Promise<boolean> {
    const stored = (await this.#run.tokens.read([id])).get(id);
    if (!(await this.#keeper.allStored())) return false;
    const begun = await patiently(
      () => this.#write((transaction) => this.#begin(id, stored, transaction)),
      this.#run,
    ).catch((error: unknown) => this.#beginInVain(id, stored, asRefusal(error)));
    const { known } = begun;
    const why = this.#whyUnsettled(id, known);
    if (known === undefined || why) {
      tellFailure(id, why ?? FORGOTTEN, this.#run);
      return true;
    }
    this.#run.recent.add(id, { change: null, token: null });
    const calls = new ServiceCalls(this.#run, this.#signal, known);
    const rotation: Rotation = { id, known, calls, isAsConfirmed: false };
    try {
      await this.#end(rotation, await this.#obtain(rotation, begun));
    } catch (error) {
      // The first error is the one that matters.
      await this.#withdraw(rotation).catch(() => {});
      throw error;
    }
    return true;
  }

  /** New tokens that were given up are tried a last time. */
  async tryOnceMore(): Promise<void> {
    const tries = this.#unstored.splice(0).map(async ({ id, tryOnce, stored }) => {
      if (await tryOnce()) return;
      this.#run.tally.madeGood(id);
      stored();
    });
    const failed = (await Promise.allSettled(tries)).find((result) => result.status === "rejected");
    if (failed) throw failed.reason;
  }

  /** The proof costs no transaction of its own where the stored token is the live one. */
  async #begin(id: string, stored: Secret | undefined, transaction: LedgerTransaction): Promise<Begun> {
    const known = await transaction.beginRotation(id, this.#run.clock.now());
    // A token that is not the one the ledger knows may be anybody's; and after a rotation's crash none can be relied on.
    const isLive = known !== undefined && stored !== undefined && isOf(stored, known);
    if (!isLive || known.intent === "rotate" || intendsRemoval(known.intent)) return { known };
    const refusal = await this.#keeper.rewrite({ user_group_id: id, token: stored }, transaction);
    return { known, live: stored, refusal };
  }

  /** The transaction is lost over the stored token: the group's failure is recorded with an intent of its own. */
  async #beginInVain(id: string, live: Secret | undefined, refusal: Failure): Promise<Begun> {
    const known = await this.#write((transaction) => transaction.beginRotation(id, this.#run.clock.now()));
    return { known, live, refusal };
  }

  /** Why it can't be rotated before a sync has settled what is under way. */
  #whyUnsettled(id: string, known: KnownToken | undefined): Failure | undefined {
    if (known === undefined) return undefined;
    const isUnborn = known.intent === "apply" && known.tokenFingerprint === null;
    if (!isUnborn && !intendsRemoval(known.intent)) return undefined;
    return unsettled(this.#options.unsettled.get(id));
  }

  async #obtain(rotation: Rotation, { live, refusal }: Begun): Promise<Rotated> {
    const { id, known } = rotation;
    if (live) {
      const failure = refusal ?? (await this.#keeper.readBack({ user_group_id: id, token: live }));
      return failure ? { kind: "failed", failure, isOpen: false } : this.#exchange(rotation, live);
    }
    const found = await this.#ask(rotation);
    if (found === undefined) return { kind: "failed", failure: UNASKABLE, isOpen: known.intent !== null };
    if (found.kind !== "answered") return unanswered(found, known.intent !== null);
    const { isNew, group } = found.answer;
    const wasRotated = known.intent === "rotate" && !isOf(group.token, known);
    if (isNew || (wasRotated && this.#options.acceptsEarlier)) return { kind: "done", token: group.token };
    return this.#proveAndExchange(rotation, group.token);
  }

  /** Until the store has taken the live token, the next sync has to ask for it. */
  async #proveAndExchange(rotation: Rotation, live: Secret): Promise<Rotated> {
    const { id, known } = rotation;
    if (await isOfAnother({ user_group_id: id, token: live }, this.#run)) return sharedWith(live);
    const isKnown = isOf(live, known);
    if (!(await this.#keeper.allStored())) return { kind: "failed", failure: NOT_BEGUN, isOpen: true };
    const failure = await this.#keeper.prove({ user_group_id: id, token: live }, async (transaction) => {
      // One that the ledger has never seen was live as well: of a leak it has to be known when.
      const result = { failure: null, isOpen: true };
      if (!isKnown) await this.#record(id, live, result, transaction);
    });
    if (failure) return { kind: "failed", failure, isOpen: true };
    return this.#exchange(rotation, live);
  }

  /** POST; and once more where somebody else has made another token meanwhile. */
  async #exchange(rotation: Rotation, live: Secret, isLast = false): Promise<Rotated> {
    const { id, calls } = rotation;
    const posted = await calls.rotate(id, live);
    if (posted.kind === "answered") return { kind: "done", token: posted.answer.token };
    if (posted.kind === "interrupted") return { kind: "left" };
    const { failure: refusal, mayHaveHappened } = posted;
    // A stored token that is refused may be dead, and the last one's is stored nowhere yet: until a GET tells the live one,
    // every sync asks for it.
    const isOpen = mayHaveHappened || isLast || isTokenRefused(refusal);
    // Its message would be lost where an error is spread.
    const failure: Failure = { code: refusal.code, message: refusal.message };
    if (refusal.code === "TOKEN_SHARED")
      return isLast ? sharedWith(live) : { kind: "failed", failure, isOpen };
    const found = await this.#ask(rotation, { isFollowUp: true });
    if (found?.kind === "answered") {
      const { isNew, group } = found.answer;
      const isAnother = !group.token.equals(live);
      if (isNew || (mayHaveHappened && isAnother)) return { kind: "done", token: group.token };
      if (isAnother && !isLast) return this.#exchange(rotation, group.token, true);
      if (isTokenRefused(refusal)) calls.rotationRefused(refusal);
      return { kind: "failed", failure, live: group.token, isOpen: mayHaveHappened };
    }
    if (found === undefined && isTokenRefused(refusal)) calls.rotationRefused(refusal);
    return { kind: "failed", failure, isOpen };
  }

  /**
   * GET: which token is live. It makes the group again where that is gone. Undefined where nobody knows what the group
   * is to be: then a GET could make another one of it.
   */
  async #ask(rotation: Rotation, options?: { isFollowUp: boolean }): Promise<CallResult<Answer> | undefined> {
    const { id, calls } = rotation;
    const group = (await this.#run.ledger.confirmed([id])).get(id);
    if (group === undefined) return undefined;
    const found = await calls.getOrCreate(group, options);
    rotation.isAsConfirmed ||= found.kind === "answered";
    return found;
  }

  #end(rotation: Rotation, rotated: Rotated): Promise<void> {
    switch (rotated.kind) {
      case "done":
        return this.#keep(rotation, rotated.token);
      case "failed":
        return this.#recordFailure(rotation, rotated);
      case "left":
        return this.#withdraw(rotation);
    }
  }

  #keep(rotation: Rotation, token: Secret): Promise<void> {
    const { id: user_group_id, known } = rotation;
    const { tally, observe } = this.#run;
    return this.#store(rotation, token, { failure: null, isOpen: staysUnderWay(rotation) }, () => {
      tally.counts.rotated++;
      const formerToken = known.tokenFingerprint;
      observe({ kind: "rotated", user_group_id, token: tokenFingerprint(token), formerToken });
    });
  }

  async #recordFailure(
    rotation: Rotation,
    { kind: _, failure, live, isOpen: mayHaveHappened, ...shared }: Failed,
  ): Promise<void> {
    const { id } = rotation;
    const isOpen = mayHaveHappened || staysUnderWay(rotation);
    const result = { failure: this.#toBeTriedAgain(rotation, failure), isOpen, ...shared };
    const tell = (): void => tellFailure(id, failure, this.#run);
    if (live) return this.#store(rotation, live, result, tell);
    await this.#write((transaction) => this.#record(id, null, result, transaction));
    tell();
  }

  /** A token that can't be stored leaves its rotation open: the next sync asks for it. */
  async #store(
    rotation: Rotation,
    token: Secret,
    result: Pick<RotationResult, "failure" | "isOpen">,
    stored: () => void,
  ): Promise<void> {
    const { id } = rotation;
    const entry = { user_group_id: id, token };
    const record = (transaction: LedgerTransaction) => this.#record(id, token, result, transaction);
    const refusal = await this.#keeper.store(entry, record);
    if (refusal === undefined) return stored();
    if (refusal.code === "TOKEN_SHARED") return this.#recordFailure(rotation, sharedWith(token));
    const failure = newTokenNotStored(refusal);
    const open = { failure: this.#toBeTriedAgain(rotation, failure), isOpen: true };
    await this.#write((transaction) => this.#record(id, null, open, transaction));
    tellFailure(id, failure, this.#run);
    this.#unstored.push({ id, tryOnce: () => this.#keeper.tryOnce(entry, record), stored });
  }

  #toBeTriedAgain({ known }: Rotation, failure: Failure): NonNullable<RotationResult["failure"]> {
    const waitMs = waitAfterFailures(known.failures + 1);
    return { ...failure, retryAt: new Date(this.#run.clock.now().getTime() + waitMs) };
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

  /** Where a call may have been sent the intent stays, and the next run asks what became of it. */
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

/** What an earlier run has begun with the group is another matter than its token, until a GET has settled it. */
const staysUnderWay = ({ known, isAsConfirmed }: Rotation): boolean =>
  known.intent === "apply" && !isAsConfirmed;
