import { waitAfterFailures } from "../../core/failure/backoff.ts";
import { asSyncError, type Failure, type SyncError } from "../../core/failure/sync-error.ts";
import { tokenFingerprint } from "../../core/group/group.ts";
import { type GroupEvent, type RotationEnd, storingFailed } from "../../core/record/next.ts";
import type { GroupRecord } from "../../core/record/record.ts";
import type { Secret } from "../../core/secret/secret.ts";
import type { GetAnswer } from "../../ports/group-service.ts";
import { reportFailure } from "../report/tally.ts";
import type { CallResult } from "../service/call-with-retries.ts";
import {
  isTokenRefused,
  type ServiceCalling,
  type ServiceCalls,
  type Unanswered,
} from "../service/service-calls.ts";
import { hasSharedToken, tokenShared } from "../tokens/shared-tokens.ts";
import { copiesUnsure } from "../tokens/store-tokens.ts";
import type { TokenWriting } from "../tokens/token-writing.ts";
import type { Committer } from "./committer.ts";
import { LiveTokenWriter, NOT_READ_BACK } from "./live-token-writer.ts";

/** One group's rotation. */
interface Rotation {
  readonly id: string;
  readonly known: GroupRecord;
  /** The token in the stores. */
  stored: Secret | undefined;
  readonly calls: ServiceCalls;
  /** A GET was answered: the service has the group as it was last confirmed, and nothing of an earlier run is under way. */
  isAsConfirmed: boolean;
}

/** What a rotation needs beside its calls. */
interface Rotating extends ServiceCalling, TokenWriting {
  readonly committer: Pick<Committer, "commit">;
}

/**
 * Rotates the token of one group whose intent is committed: live token → proof that the store takes a token of this group →
 * POST → token store and ledger. If a POST gets no answer, a GET tells which token is live.
 */
export class TokenRotation {
  readonly #run: Rotating;
  readonly #tokenWriter: LiveTokenWriter;

  constructor(run: Rotating) {
    this.#run = run;
    this.#tokenWriter = new LiveTokenWriter(run);
  }

  /** Waits while a new token can't be stored. Resolves to false once that is given up: no further rotation may begin. */
  mayBegin(): Promise<boolean> {
    return this.#tokenWriter.allStored();
  }

  /**
   * Resolves to "left" if the rotation is still to be tried: another new token could not be stored, or the run is ending. Rejects
   * if the run has to end.
   */
  async rotate(known: GroupRecord, calls: ServiceCalls): Promise<"done" | "failed" | "left"> {
    if (!(await this.mayBegin())) return "left";
    const { user_group_id: id } = known;
    const rotation: Rotation = { id, known, stored: undefined, calls, isAsConfirmed: false };
    try {
      rotation.stored = (await this.#run.tokens.read([id], this.#run.signal)).get(id);
      const rotated = await this.#obtain(rotation);
      await this.#end(rotation, rotated);
      return rotated.kind === "not proved" ? "failed" : rotated.kind;
    } catch (error) {
      // Throw the first error, not one of recording it.
      await this.#leave(rotation, asSyncError(error)).catch(() => {});
      throw error;
    }
  }

  async #obtain(rotation: Rotation): Promise<RotationOutcome> {
    const { id, known, stored } = rotation;
    // A stored token that the ledger doesn't know may belong to another group. After an interrupted rotation, no stored token
    // can be relied on.
    if (stored !== undefined && isOf(stored, known) && known.intent !== "rotate") {
      const failure = await this.#tokenWriter.prove({ user_group_id: id, token: stored });
      return failure ? { kind: "failed", failure, isOpen: false } : this.#exchange(rotation, stored);
    }
    const found = await this.#ask(rotation);
    if (found === undefined) return { kind: "failed", failure: UNASKABLE, isOpen: known.intent !== null };
    if (found.kind !== "answered") return unanswered(found, known.intent !== null);
    return this.#proveAndExchange(rotation, found.answer.group.token);
  }

  /** If the live token can't be stored, the rotation stays open: the next sync asks for the token. */
  async #proveAndExchange(rotation: Rotation, live: Secret): Promise<RotationOutcome> {
    const { id, known } = rotation;
    if (await hasSharedToken({ user_group_id: id, token: live }, this.#run)) return failedBySharedToken(live);
    if (!(await this.#tokenWriter.allStored())) return { kind: "failed", failure: NOT_BEGUN, isOpen: true };
    const failure = await this.#tokenWriter.prove({ user_group_id: id, token: live });
    if (failure) return { kind: "not proved", failure };
    if (!isOf(live, known)) await this.#change(rotation, seen(live));
    return this.#exchange(rotation, live);
  }

  /** Sends the POST. Sends a second one if a GET then tells another token, and the first one may have had no effect. */
  async #exchange(rotation: Rotation, live: Secret, isLast = false): Promise<RotationOutcome> {
    const { id, known, calls } = rotation;
    const posted = await calls.rotate(id, live);
    if (posted.kind === "answered") {
      const { token } = posted.answer;
      if (token.equals(live)) return { kind: "failed", failure: SAME_TOKEN, live, isOpen: false };
      return { kind: "done", token };
    }
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
      // Somebody else may have made that token earlier, and it may be the one that an operator wants to be rid of.
      const isDone = (isNew || mayHaveHappened) && isAnother && known.wantedSince === null;
      if (isDone) return { kind: "done", token: group.token };
      if (isAnother && !isLast) {
        const isShared = await hasSharedToken({ user_group_id: id, token: group.token }, this.#run);
        if (isShared) return failedBySharedToken(group.token);
        await this.#change(rotation, seen(group.token));
        return this.#exchange(rotation, group.token, true);
      }
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
    const { known, calls } = rotation;
    if (known.confirmed === null) return undefined;
    const found = await calls.getOrCreate(known.confirmed, options);
    rotation.isAsConfirmed ||= found.kind === "answered";
    return found;
  }

  async #end(rotation: Rotation, rotated: RotationOutcome): Promise<void> {
    switch (rotated.kind) {
      case "done":
        return this.#keep(rotation, rotated.token);
      case "failed":
        return this.#recordFailure(rotation, rotated);
      case "not proved":
        return this.#recordNotStored(rotation, rotated.failure, false);
      case "left":
        return;
    }
  }

  #keep(rotation: Rotation, token: Secret): Promise<void> {
    const { tally, observe } = this.#run;
    const result = { failure: null, isOfPost: true, isOpen: staysUnderWay(rotation) };
    return this.#store(rotation, token, result, () => {
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
    const result = { failure: this.#toTryAgain(failure, known), isOfPost: false, isOpen, ...shared };
    const report = (): void => reportFailure(id, failure, this.#run);
    if (live) return this.#store(rotation, live, result, report);
    // A store may lack the present token. The next syncs see to that, even if nobody wants a new token any more.
    const isLacking = failure.code === "TOKEN_NOT_EVERYWHERE" || failure === NOT_READ_BACK;
    const now = this.#run.clock.now();
    const lacking = isLacking ? [storingFailed(id, known.failures.storing, failure, now)] : [];
    await this.#change(rotation, ...lacking, rotationEnded(null, result));
    report();
  }

  /** If the token can't be stored, the rotation stays open: the next sync asks for the token. */
  async #store(
    rotation: Rotation,
    token: Secret,
    result: Pick<RotationEnd, "failure" | "isOfPost" | "isOpen">,
    stored: () => void,
  ): Promise<void> {
    const { id } = rotation;
    const events = [
      rotationEnded(token, result),
      ...(result.isOpen ? [] : copiesUnsure(rotation.known, this.#run)),
    ];
    const refusal = await this.#tokenWriter.store({ user_group_id: id, token }, () =>
      this.#change(rotation, ...events),
    );
    if (refusal === undefined) return stored();
    if (refusal.code === "TOKEN_SHARED") return this.#recordFailure(rotation, failedBySharedToken(token));
    return this.#recordNotStored(rotation, newTokenNotStored(refusal), result.isOfPost);
  }

  /** The fault lies with the store, not with the rotation: the failure ends once a store takes the token. */
  async #recordNotStored(rotation: Rotation, failure: Failure, isOfPost: boolean): Promise<void> {
    const { id, known, stored } = rotation;
    // The tenant is gone, and so is the place of its token: nobody needs a new one.
    const isGone = !isOfPost && known.absence !== null && stored === undefined;
    const events: GroupEvent[] = isGone
      ? [{ kind: "storing_ended", failure: null }]
      : [storingFailed(id, known.failures.storing, failure, this.#run.clock.now())];
    if (isGone)
      events.push(rotationEnded(null, { failure: null, isOfPost, isOpen: staysUnderWay(rotation) }));
    // After a POST the old token is dead: what is left is to store the new one, which a GET tells.
    if (isGone || isOfPost) events.push({ kind: "unwanted" });
    await this.#change(rotation, ...events);
    if (isGone) this.#run.tally.keptTokens.add(id);
    reportFailure(id, isGone ? NO_PLACE : failure, this.#run);
  }

  /** An error ends the run. An outage is recorded as the group's failure, because this group alone may be the cause. */
  async #leave(rotation: Rotation, error: SyncError): Promise<void> {
    const { id, known, calls } = rotation;
    if (!isOutage(error)) return;
    const failure = this.#toTryAgain(error, known);
    const end = { failure, isOfPost: false, isOpen: calls.mayHaveHappened };
    await this.#change(rotation, rotationEnded(null, end));
    reportFailure(id, error, this.#run);
  }

  #toTryAgain({ code, message }: Failure, { failures: { rotation } }: GroupRecord): RotationEnd["failure"] {
    const waitMs = waitAfterFailures((rotation?.count ?? 0) + 1);
    return { code, message, retryAt: new Date(this.#run.clock.now().getTime() + waitMs) };
  }

  /** Records what happened to the group. */
  async #change({ id }: Pick<Rotation, "id">, ...events: readonly GroupEvent[]): Promise<void> {
    await this.#run.committer.commit({ user_group_id: id, isUrgent: true, events: () => events });
  }
}

const rotationEnded = (token: Secret | null, result: Omit<RotationEnd, "tokenFingerprint">): GroupEvent => ({
  kind: "rotation_ended",
  tokenFingerprint: token && tokenFingerprint(token),
  ...result,
});

/**
 * A GET has told a live token that the ledger didn't know: the group may be another one than was confirmed, and after a leak,
 * operators ask when which token was live.
 */
const seen = (live: Secret): GroupEvent =>
  rotationEnded(live, { failure: null, isOfPost: false, isOpen: true });

const isOf = (token: Secret, { tokenFingerprint: known }: GroupRecord): boolean =>
  tokenFingerprint(token) === known;

/** Whether an earlier run's update stays under way: only a GET can settle it. */
const staysUnderWay = ({ known, isAsConfirmed }: Rotation): boolean =>
  known.intent === "apply" && !isAsConfirmed;

interface Failed {
  readonly kind: "failed";
  readonly failure: Failure;
  /** The live token, if it is known and has to be stored. */
  readonly live?: Secret;
  /** See `RotationEnd`. */
  readonly sharedToken?: string;
  /** A POST may have changed the token, or the live token isn't stored: the intent stays. */
  readonly isOpen: boolean;
}

/** The result of the calls of one rotation. */
type RotationOutcome =
  | { readonly kind: "done"; readonly token: Secret }
  | Failed
  /** No store has shown that it takes a token of this group, so no POST was sent. */
  | { readonly kind: "not proved"; readonly failure: Failure }
  /** Left to the next run, because this run is ending. */
  | { readonly kind: "left" };

/** The service returned a token that belongs to another group. The next run asks again. */
function failedBySharedToken(token: Secret): Failed {
  const { code, message } = tokenShared();
  return { kind: "failed", failure: { code, message }, sharedToken: tokenFingerprint(token), isOpen: true };
}

/** The outcome if the GET for the live token was not answered. */
function unanswered(called: Unanswered, isOpen: boolean): RotationOutcome {
  if (called.kind === "interrupted") return { kind: "left" };
  const { code, message } = called.failure;
  return { kind: "failed", failure: { code, message }, isOpen };
}

/** Whether the service or a token store is away, or seems to be. */
export const isOutage = ({ code }: SyncError): boolean =>
  code === "SERVICE_UNAVAILABLE" || code.startsWith("TOKEN_STORE_");

const UNASKABLE: Failure = {
  code: "UNSETTLED",
  message:
    "the live token of this group isn't stored, and asking the service for it could change the group, because only the group's name at the service is known; a sync with service.update: upsert asks for it",
};

const NO_PLACE: Failure = {
  code: "TOKEN_NOT_STORED",
  message:
    "its tenant is gone, and the token store has no place for a new token; the old token works until the group is deleted",
};

const SAME_TOKEN: Failure = {
  code: "BAD_RESPONSE",
  message: "the service answered the POST with the same token as before, so the old token still works",
};

/** The failure of a rotation that doesn't begin, because another group's new token waits to be stored. */
export const NOT_BEGUN: Failure = {
  code: "NOT_ROTATED",
  message:
    "the rotation did not begin, because another group's new token could not be stored; the token of this group is unchanged",
};

const newTokenNotStored = ({ message }: Failure): Failure => ({
  code: "NEW_TOKEN_NOT_STORED",
  message: `the old token is dead, and the new one could not be stored: ${message}; the next sync asks for it and stores it`,
});
