import type { Change } from "../core/change.ts";
import { SyncError } from "../core/errors.ts";
import { type Group, tokenFingerprint } from "../core/group.ts";
import type { Failed } from "../core/outcome.ts";
import type { Secret } from "../core/secret.ts";
import type { ServiceFailure } from "../core/service-failure.ts";
import type { GroupService, RemovableGroup, ServiceGroup } from "../ports/group-service.ts";
import type { KnownGroup } from "../ports/ledger.ts";
import { type CallContext, type CallResult, callRepeatedly } from "./call.ts";
import type { Operation, Run } from "./run.ts";
import { whyNotBy } from "./shared-tokens.ts";

export type Answer = Awaited<ReturnType<GroupService["getOrCreate"]>>;

/** A call that was not answered well. */
export type Unanswered = Exclude<CallResult<unknown>, { kind: "answered" }>;

/**
 * The calls that one change needs. Each is repeated where that can help, and shows what the service is: every
 * method rejects where the run has to end.
 */
export class ServiceCalls {
  readonly #run: Run;
  readonly #context: Omit<CallContext, "breaker">;
  readonly #onEffect: () => void;
  readonly #knownToken: string | null;
  /** An earlier run's call may be under way. */
  readonly #isUnderWay: boolean;
  #mayHaveHappened: boolean;

  /** `before` is what the ledger knew; `onEffect` is told as soon as a call may have changed the service. */
  constructor(
    run: Run,
    signal: AbortSignal,
    before: Pick<KnownGroup, "intent" | "tokenFingerprint"> | null,
    onEffect: () => void = () => {},
  ) {
    const { clock, throttle, retries, lease, observe, tally } = run;
    const countRequest = (): void => {
      tally.requests++;
    };
    this.#run = run;
    this.#context = { clock, throttle, retries, lease, observe, signal, countRequest };
    this.#onEffect = onEffect;
    this.#knownToken = before?.tokenFingerprint ?? null;
    // That a call is refused says nothing of the one that an earlier run may have made.
    this.#isUnderWay = before !== null && before.intent !== null;
    this.#mayHaveHappened = this.#isUnderWay;
  }

  /** Any of the calls, or one of an earlier run, may have had its effect. */
  get mayHaveHappened(): boolean {
    return this.#mayHaveHappened;
  }

  /** GET. As a follow-up it is sent even where the run is ending. */
  async getOrCreate(group: Group, { isFollowUp = false } = {}): Promise<CallResult<Answer>> {
    const called = await this.#call(
      "GET",
      group.user_group_id,
      (beforeSend) => this.#run.service.getOrCreate(group, beforeSend),
      { isFollowUp },
    );
    if (called.kind === "failed") this.#insistOnService("GET", called.failure);
    if (called.kind !== "answered") return called;
    const { isNew, group: found } = called.answer;
    await confirmTeam(isNew, found, group.user_group_id, this.#run).catch((error: unknown) => {
      // What isn't ours is taken back; of any other error the next run makes the best, for the intent stands.
      if (!isNotOurs(error)) this.#noteEffect();
      throw error;
    });
    this.#noteEffect();
    // The interface says that a new group is called new, and not that no other one is.
    const isKnown = tokenFingerprint(found.token) === this.#knownToken;
    return { ...called, answer: { isNew: isNew && !isKnown, group: found } };
  }

  /** POST, never repeated once it may have had its effect, and not sent with a token of two groups. A token that is refused is for the caller to make good. */
  async rotate(id: string, currentToken: Secret): Promise<CallResult<ServiceGroup>> {
    const shared = await whyNotBy(currentToken, id, this.#run);
    if (shared) return { kind: "failed", failure: shared, mayHaveHappened: false };
    const called = await this.#call(
      "POST",
      id,
      (beforeSend) => this.#run.service.rotate(id, currentToken, beforeSend),
      { isUnrepeatable: true },
    );
    if (called.kind === "failed" && !isTokenRefused(called.failure)) {
      this.#insistOnService("POST", called.failure);
    }
    if (called.kind === "answered") this.#noteEffect();
    return called;
  }

  /** A POST was refused, and not for its token: that is the live one. */
  rotationRefused(failure: ServiceFailure): void {
    endWith(this.#run.breakers.POST.refused(failure));
  }

  /** DELETE, not sent with a token of two groups. A token that is refused is for the caller to make good. */
  async remove(group: RemovableGroup): Promise<CallResult<void>> {
    const shared = await whyNotBy(group.token, group.user_group_id, this.#run);
    if (shared) return { kind: "failed", failure: shared, mayHaveHappened: false };
    const called = await this.#call("DELETE", group.user_group_id, (beforeSend) =>
      this.#run.service.remove(group, beforeSend),
    );
    if (called.kind === "failed" && !isTokenRefused(called.failure)) {
      this.#insistOnService("DELETE", called.failure);
    }
    if (called.kind === "answered") this.#noteEffect();
    return called;
  }

  /** Undefined where the run is ending, and the change has to be left to the next one. */
  failed(change: Change, called: Unanswered): Failed | undefined {
    if (called.kind === "interrupted") return undefined;
    const { code, message } = called.failure;
    return { kind: "failed", change, failure: { code, message }, mayHaveHappened: this.#mayHaveHappened };
  }

  async #call<T>(
    operation: Operation,
    id: string,
    request: (beforeSend: () => void) => Promise<T>,
    special: Pick<CallContext, "isFollowUp" | "isUnrepeatable"> = {},
  ): Promise<CallResult<T>> {
    const breaker = this.#run.breakers[operation];
    if (this.#isUnderWay) await this.#run.lease.formerCallsEnded(this.#context.signal);
    const called = await callRepeatedly(id, request, { ...this.#context, ...special, breaker });
    if (called.kind === "answered") breaker.succeeded();
    else if (called.mayHaveHappened) this.#noteEffect();
    return called;
  }

  #noteEffect(): void {
    this.#mayHaveHappened = true;
    this.#onEffect();
  }

  #insistOnService(operation: Operation, failure: ServiceFailure): void {
    endWith(this.#run.breakers[operation].failed(failure));
  }
}

function endWith(error: SyncError | undefined): void {
  if (error) throw error;
}

/** The service answered, and it was no: with a key that is good for a GET, this speaks of the token. */
export const isTokenRefused = ({ code, reaction }: ServiceFailure): boolean =>
  reaction === "fail" || code === "KEY_REFUSED";

/** The group, or the place for its token, is somebody else's. */
const isNotOurs = (error: unknown): boolean =>
  error instanceof SyncError && ["TEAM_CHANGED", "CONFIG_TOKENS_OWNED"].includes(error.code);

/** A group that was just made in the wrong team is taken out of it again. */
async function confirmTeam(isNew: boolean, group: ServiceGroup, id: string, run: Run): Promise<void> {
  try {
    await run.owners.confirm(group.teamId);
    run.identity.confirmTeam(group.teamId);
  } catch (error) {
    if (isNew && isNotOurs(error)) {
      run.tally.requests++;
      const made = { user_group_id: id, token: group.token, dataSourceId: null };
      await run.service.remove(made).catch((failure: ServiceFailure) => {
        run.observe({
          kind: "warning",
          code: "GROUP_LEFT_BEHIND",
          message: `group ${id} was created in team ${group.teamId} and could not be removed: ${failure.message}`,
          hint: "remove it by hand",
        });
      });
    }
    throw error;
  }
}
