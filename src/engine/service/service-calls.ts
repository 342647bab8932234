import type { Failed } from "../../core/apply/outcome.ts";
import {
  isUndecided,
  refusedAlone,
  ServiceFailure,
  type Undecided,
} from "../../core/failure/service-failure.ts";
import { SyncError } from "../../core/failure/sync-error.ts";
import { type Group, tokenFingerprint } from "../../core/group/group.ts";
import type { Change } from "../../core/plan/change.ts";
import type { GroupRecord } from "../../core/record/record.ts";
import type { Secret } from "../../core/secret/secret.ts";
import type {
  GetAnswer,
  GroupService,
  RemovableGroup,
  ServiceGroup,
  ServiceMethod,
} from "../../ports/group-service.ts";
import type { LedgerWriting } from "../lease/lease.ts";
import type { Reporting } from "../report/tally.ts";
import { insistOnOwnGroups } from "../scope/scope.ts";
import type { DestinationOwners } from "../tokens/destination-owners.ts";
import { hasSharedToken, tokenShared } from "../tokens/shared-tokens.ts";
import type { Breaker, Breakers } from "./breaker.ts";
import { type CallContext, type CallResult, callWithRetries } from "./call-with-retries.ts";
import type { NeutralRequests } from "./neutral-requests.ts";
import type { ServiceIdentity } from "./service-identity.ts";
import { PRIORITY, type Priority, type Throttle } from "./throttle.ts";

interface SignOfLife extends Required<Pick<CallContext, "repeatedAfter">> {
  /** Is called before a group is charged with a failure. Rejects if the run has to end instead. */
  failed(failure: ServiceFailure): Promise<void>;
}

/** What a step needs to call the service. */
export interface ServiceCalling extends LedgerWriting, Reporting {
  readonly service: GroupService;
  readonly owners: DestinationOwners;
  readonly identity: ServiceIdentity;
  readonly throttle: Throttle;
  /** Whether the calls are for tenants that somebody named, and so go before the calls of a full sync. */
  readonly isForSingleTenants: boolean;
  readonly breakers: Breakers;
  readonly neutral: Pick<NeutralRequests, "concernsEverybody" | "signOfLife">;
  /** Set if the call is to show whether the service lives. */
  readonly signOfLife?: SignOfLife;
}

/** What the ledger knew of a group before its change. */
type KnownGroup = Pick<GroupRecord, "intent" | "tokenFingerprint" | "failures">;

interface CallOptions extends Pick<CallContext, "waitBeforeRetry" | "mayStillSend"> {
  /** Called as soon as a call may have changed the service. */
  readonly onEffect?: () => void;
}

/** A call that was not answered well. */
export type Unanswered = Exclude<CallResult<unknown>, { kind: "answered" }>;
type FailedCall = Extract<CallResult<unknown>, { kind: "failed" }>;

/**
 * The calls for one change of one group. Failed calls are repeated as `CallAttempts` decides. Every method rejects if the run
 * has to end, such as for a refused API key or another team.
 */
export class ServiceCalls {
  readonly #run: ServiceCalling;
  readonly #context: Omit<CallContext, "breaker">;
  readonly #onEffect: () => void;
  readonly #knownToken: string | null;
  /** A call of an earlier run may still be under way. */
  readonly #isUnderWay: boolean;
  /** A call for this group has failed in an earlier run. */
  readonly #hasFailedBefore: boolean;
  /** A call of this run may have had its effect. */
  #hadEffect = false;
  #end: SyncError | undefined;

  /** `before`: null for an unknown group. */
  constructor(
    run: ServiceCalling,
    signal: AbortSignal,
    before: KnownGroup | null,
    { onEffect = () => {}, waitBeforeRetry, mayStillSend }: CallOptions = {},
  ) {
    const { clock, throttle, lease, observe, tally } = run;
    this.#knownToken = before?.tokenFingerprint ?? null;
    this.#run = run;
    // Not `...run`: a copy of the whole run for each of many groups takes longer than what is done with it.
    this.#context = {
      clock,
      throttle,
      lease,
      observe,
      tally,
      signal,
      priority: priorityOf(run, this.#knownToken),
      waitBeforeRetry,
      mayStillSend,
      onPerhapsSent: () => this.#reportEffect(),
      repeatedAfter: run.signOfLife?.repeatedAfter,
    };
    this.#onEffect = onEffect;
    this.#isUnderWay = before !== null && before.intent !== null;
    this.#hasFailedBefore = Object.values(before?.failures ?? {}).some((failure) => failure !== null);
  }

  /** What ends the run although the failure was of this group alone, which is to be recorded all the same. */
  get endOfRun(): SyncError | undefined {
    return this.#end;
  }

  /** Whether a call of this run or of an earlier run may have had its effect. */
  get mayHaveHappened(): boolean {
    return this.#isUnderWay || this.#hadEffect;
  }

  /** GET. A follow-up is sent even if the run is ending. */
  async getOrCreate(group: Group, { isFollowUp = false } = {}): Promise<CallResult<GetAnswer>> {
    const called = await this.#call(
      "GET",
      group.user_group_id,
      (beforeSend) => this.#run.service.getOrCreate(group, beforeSend),
      { isFollowUp },
    );
    if (called.kind === "failed") return this.#own("GET", group.user_group_id, called);
    if (called.kind !== "answered") return called;
    const { group: found } = called.answer;
    // The interface doesn't promise that `new_user_group` is false for an existing group. A known token shows it exists.
    const isNew = called.answer.isNew && tokenFingerprint(found.token) !== this.#knownToken;
    const mayBeNew = called.mayHaveBeenSent && this.#knownToken === null;
    await confirmTeam({ isNew, mayBeNew }, found, group.user_group_id, this.#run).catch((error: unknown) => {
      // If the group is not ours, `confirmTeam` removes a group that the call created. After any other error the intent
      // stays, and the next run settles it.
      if (!isNotOurs(error)) this.#reportEffect();
      throw error;
    });
    this.#reportEffect();
    return { ...called, answer: { isNew, group: found } };
  }

  /**
   * POST. Not repeated once it may have had its effect, and not sent if two groups share the token. If the token is refused,
   * the caller has to find the live one.
   */
  async rotate(id: string, currentToken: Secret): Promise<CallResult<ServiceGroup>> {
    if (await hasSharedToken({ user_group_id: id, token: currentToken }, this.#run, "all"))
      return { kind: "failed", failure: tokenShared(), mayHaveHappened: false };
    const called = await this.#call(
      "POST",
      id,
      (beforeSend) => this.#run.service.rotate(id, currentToken, beforeSend),
      { isUnrepeatable: true },
    );
    if (called.kind === "failed") return this.#ownOrOfToken("POST", id, called);
    if (called.kind === "answered") this.#reportEffect();
    return called;
  }

  /**
   * Counts the refusal of a POST that had the live token: the service refused the group, not the token. `isKeyGood`: a GET has
   * passed since. Resolves to false if the run is ending. Rejects if the run has to end.
   */
  async rotationRefused(id: string, failure: ServiceFailure, isKeyGood: boolean): Promise<boolean> {
    const { breakers } = this.#run;
    const { cause: refusal } = failure;
    if (!isUndecided(refusal)) {
      endWith(breakers.POST.refused(failure));
      return true;
    }
    if (!isKeyGood && !(await this.#isAlone(refusal))) return false;
    this.#refusedAlone(breakers.POST, id, refusal);
    return true;
  }

  /** DELETE. Not sent if two groups share the token. If the token is refused, the caller has to find the live one. */
  async remove(group: RemovableGroup): Promise<CallResult<void>> {
    if (await hasSharedToken(group, this.#run, "all"))
      return { kind: "failed", failure: tokenShared(), mayHaveHappened: false };
    const called = await this.#call("DELETE", group.user_group_id, (beforeSend) =>
      this.#run.service.remove(group, beforeSend),
    );
    if (called.kind === "failed") return this.#ownOrOfToken("DELETE", group.user_group_id, called);
    if (called.kind === "answered") this.#reportEffect();
    return called;
  }

  /** The outcome of a change whose call failed. Undefined if the run is ending: the next run then makes the change. */
  failed(change: Change, called: Unanswered): Failed | undefined {
    if (called.kind === "interrupted") return undefined;
    const { code, message, retryAfterMs } = called.failure;
    const failed = { change, failure: { code, message }, mayHaveHappened: this.mayHaveHappened };
    const isAsBefore = this.#isUnderWay && !this.#hadEffect;
    return { kind: "failed", ...failed, isAsBefore, ...(retryAfterMs !== undefined && { retryAfterMs }) };
  }

  async #call<T>(
    method: ServiceMethod,
    id: string,
    request: (beforeSend: () => void) => Promise<T>,
    { isFollowUp = false, isUnrepeatable = false }: Pick<CallContext, "isFollowUp" | "isUnrepeatable"> = {},
  ): Promise<CallResult<T>> {
    const breaker = this.#run.breakers[method];
    if (this.#isUnderWay) await this.#run.lease.formerCallsEnded(this.#context.signal);
    const context = { ...this.#context, isFollowUp, isUnrepeatable, breaker };
    const called = await callWithRetries(id, request, context);
    if (called.kind === "answered") {
      breaker.succeeded();
      this.#run.identity.answered(this.#run.clock.now());
    }
    return called;
  }

  #reportEffect(): void {
    this.#hadEffect = true;
    this.#onEffect();
  }

  /** The failure of a POST or DELETE. A refusal, of the key too, may be of its token: the caller's GET, which sends none, tells. */
  async #ownOrOfToken(method: ServiceMethod, id: string, called: FailedCall): Promise<Unanswered> {
    const { failure } = called;
    if (isUndecided(failure) && failure.code === "KEY_REFUSED")
      return { ...called, failure: new ServiceFailure("REFUSED", failure.message, { cause: failure }) };
    return isTokenRefused(failure) ? called : this.#own(method, id, called);
  }

  /** The failure as one of this group alone. Rejects if the run has to end. */
  async #own(method: ServiceMethod, id: string, called: FailedCall): Promise<Unanswered> {
    const { failure } = called;
    const breaker = this.#run.breakers[method];
    if (isUndecided(failure) && !(await this.#isAlone(failure)))
      return { kind: "interrupted", mayHaveHappened: called.mayHaveHappened };
    await this.#run.signOfLife?.failed(failure);
    if (!isUndecided(failure)) {
      endWith(breaker.failed(failure));
      return called;
    }
    this.#refusedAlone(breaker, id, failure);
    return { ...called, failure: refusedAlone(failure) };
  }

  /** A group that was refused in an earlier run too shows nothing new, so it doesn't end the run. */
  #refusedAlone(breaker: Breaker, id: string, refusal: Undecided): void {
    this.#end = this.#hasFailedBefore ? breaker.refused(refusal) : breaker.refusedAlone(id, refusal);
  }

  /** Whether the refusal concerns this group alone. Resolves to false if the run is ending. Throws one that concerns everybody. */
  async #isAlone(refusal: Undecided): Promise<boolean> {
    const isGeneral = await this.#run.neutral.concernsEverybody(refusal);
    if (isGeneral) throw refusal;
    return isGeneral === false;
  }
}

function endWith(error: SyncError | undefined): void {
  if (error) throw error;
}

/** Whether a POST or DELETE may have been refused because of its token. */
export const isTokenRefused = ({ reaction }: ServiceFailure): boolean => reaction === "fail";

/** Whether the group belongs to another team or another scope, or its token destination to another config. */
const isNotOurs = (error: unknown): boolean =>
  error instanceof SyncError &&
  ["TEAM_CHANGED", "CONFIG_TOKENS_OWNED", "CONFIG_SCOPE_SHARED"].includes(error.code);

/**
 * Confirms the team of an answer. If it is the wrong team, removes a group that the call has just created there, and tells of one
 * that stays there. `mayBeNew`: a call whose answer was lost may have created it.
 */
async function confirmTeam(
  { isNew, mayBeNew }: { readonly isNew: boolean; readonly mayBeNew: boolean },
  group: ServiceGroup,
  id: string,
  run: ServiceCalling,
): Promise<void> {
  const leftBehind = (message: string, hint: string): void =>
    run.observe({ kind: "warning", code: "GROUP_LEFT_BEHIND", message, hint });
  try {
    await insistOnScope(group, run);
    await run.owners.confirm(group.teamId);
    run.identity.confirmTeam(group.teamId);
  } catch (error) {
    const made = { user_group_id: id, token: group.token, dataSourceId: null };
    const isOthers = isNotOurs(error);
    if (isOthers && isNew && !(await hasSharedToken(made, run, "all"))) {
      run.tally.requests++;
      await run.service.remove(made).catch((failure: ServiceFailure) => {
        const why = `was created in team ${group.teamId} and could not be removed: ${failure.message}`;
        leftBehind(`group ${id} ${why}`, "remove it by hand");
      });
    } else if (isOthers && mayBeNew) {
      const why = `is in team ${group.teamId}, and a call whose answer was lost may have created it there`;
      leftBehind(`group ${id} ${why}`, "if it wasn't there before, remove it by hand");
    }
    throw error;
  }
}

/** The first answer for a new scope shows whose key its config has. */
async function insistOnScope({ teamId }: ServiceGroup, { identity, ledger }: ServiceCalling): Promise<void> {
  if (!identity.isKnown) await insistOnOwnGroups({ baseUrl: identity.baseUrl, teamId }, ledger, otherKey);
}

const otherKey = (other: string): string =>
  `nothing was stored. A copied config needs a service.api_key of another team, or tenants that ${JSON.stringify(other)} doesn't have; if this config takes the place of ${JSON.stringify(other)}, run \`groupsync forget ${other}\` first`;

function priorityOf({ isForSingleTenants }: ServiceCalling, knownToken: string | null): Priority {
  if (!isForSingleTenants) return PRIORITY.fullSync;
  return knownToken === null ? PRIORITY.newTenant : PRIORITY.changedTenant;
}
