import { type Failure, SyncError } from "../core/failure/sync-error.ts";
import {
  CANARY_NAME,
  canaryGroup,
  type DeleteField,
  type DeleteResult,
  type DeleteTry,
  isDeleted,
  isMadeAnew,
} from "../core/probe/findings.ts";
import type { Secret } from "../core/secret/secret.ts";
import type { RemovableGroup } from "../ports/group-service.ts";
import type { Canary } from "../ports/ledger/scope.ts";
import {
  isTokenRefused,
  type ServiceCalling,
  ServiceCalls,
  type Unanswered,
} from "./service/service-calls.ts";

/** The DELETEs to try, until one has its effect. Each carries the canary's own live token. */
const FORMS: readonly (readonly DeleteField[])[] = [
  ["current_token"],
  ["current_token", "user_group_id"],
  ["current_token", "data_source_provided_id"],
  ["current_token", "user_group_id", "data_source_provided_id"],
];
/** How many times the last DELETE is tried. An answer that is lost several times in a row is lost for a reason. */
const MOST_ROUNDS = 6;

export interface CanaryDeletion {
  /** Whether the service has deleted the canary for certain. */
  readonly isGone: boolean;
  readonly tries: readonly DeleteTry[];
  /** Why nobody can tell, if a call failed. Undefined if every DELETE was refused or had no effect. */
  readonly failure?: Failure | undefined;
}

interface Known {
  /** The live token. If it is left out, a GET asks for it. */
  readonly live?: Secret | undefined;
  /** Every GET returns another token, so `new_user_group` alone tells whether a group is new. */
  readonly everyGetHasAnother?: boolean;
}

/** Nobody can tell what became of the canary, because a call failed or the run is ending. */
interface Unclear {
  readonly kind: "unclear";
  readonly failure: Failure | undefined;
}

/** What one form of a DELETE did. `live` is the canary's token afterwards. */
interface Tried extends DeleteTry {
  readonly kind: "tried";
  readonly live: Secret;
}

/**
 * Deletes the canary, however the service wants that. A GET returns the live token. A DELETE's answer alone is no proof:
 * after the first DELETE that seems to have had its effect, a GET shows whether it did. That GET makes the canary anew, so
 * the same DELETE follows once more, and its answer then counts. It doesn't matter what earlier calls did, so this can be
 * repeated at any time.
 * Rejects if the run has to end.
 */
export async function deleteCanary(
  user_group_id: string,
  calls: ServiceCalls,
  { live: known, everyGetHasAnother = false }: Known = {},
): Promise<CanaryDeletion> {
  const tries: DeleteTry[] = [];
  const unclear = ({ failure }: Unclear): CanaryDeletion => ({ isGone: false, tries, failure });
  const canary = new CanaryCalls(user_group_id, calls, everyGetHasAnother);
  let live = known ?? (await canary.liveToken());
  for (const fields of FORMS) {
    if ("kind" in live) return unclear(live);
    const tried = await canary.tryForm(fields, live);
    if (tried.kind === "unclear") {
      if (tried.failure) tries.push({ fields, result: "failed", text: tried.failure.message });
      return unclear(tried);
    }
    const { result, text } = tried;
    tries.push({ fields, result, text });
    live = tried.live;
    if (!isDeleted(tried)) continue;
    const failure = await canary.deleteAgain(fields, live, tried.result);
    return failure === "gone" ? { isGone: true, tries } : unclear(failure);
  }
  return { isGone: false, tries };
}

class CanaryCalls {
  readonly #id: string;
  readonly #calls: ServiceCalls;
  readonly #everyGetHasAnother: boolean;

  constructor(id: string, calls: ServiceCalls, everyGetHasAnother: boolean) {
    this.#id = id;
    this.#calls = calls;
    this.#everyGetHasAnother = everyGetHasAnother;
  }

  async liveToken(): Promise<Secret | Unclear> {
    const found = await this.#get();
    return found.kind === "answered" ? found.answer.group.token : unclearBy(found);
  }

  /** Sends a DELETE with these fields, and finds out whether it had its effect. */
  async tryForm(fields: readonly DeleteField[], token: Secret): Promise<Tried | Unclear> {
    const removed = await this.#remove(fields, token);
    if (removed.kind === "interrupted") return unclearBy(removed);
    const text = removed.kind === "failed" ? removed.failure.message : null;
    const tried = (result: DeleteResult, live = token): Tried => ({
      kind: "tried",
      fields,
      result,
      text,
      live,
    });
    if (removed.kind === "failed" && !removed.mayHaveHappened)
      return isNo(removed, false) ? tried("refused") : unclearBy(removed);

    const found = await this.#get();
    if (found.kind !== "answered") return unclearBy(found);
    const { isNew, group } = found.answer;
    if (isMadeAnew({ isNew, token: group.token }, token, this.#everyGetHasAnother)) {
      return removed.kind === "failed" && removed.failure.code === "BAD_RESPONSE"
        ? tried("deleted, bad answer", group.token)
        : { ...tried("deleted", group.token), text: null };
    }
    if (removed.kind === "answered") return tried("without effect", group.token);
    return isNo(removed, true) ? tried("refused", group.token) : unclearBy(removed);
  }

  /** Deletes the canary in a form that has had its effect before. */
  async deleteAgain(
    fields: readonly DeleteField[],
    token: Secret,
    expected: DeleteResult,
  ): Promise<"gone" | Unclear> {
    let live = token;
    for (let round = 1; ; round++) {
      const removed = await this.#remove(fields, live);
      if (removed.kind === "answered") return "gone";
      if (removed.kind === "interrupted") return unclearBy(removed);
      // This service never answers a DELETE well, and the DELETE has shown its effect all the same.
      if (expected === "deleted, bad answer" && removed.failure.code === "BAD_RESPONSE") return "gone";
      if (round >= MOST_ROUNDS) return unclearBy(removed);
      const found = await this.#get();
      if (found.kind !== "answered") return unclearBy(found);
      live = found.answer.group.token;
    }
  }

  #get() {
    return this.#calls.getOrCreate(canaryGroup(this.#id, CANARY_NAME));
  }

  #remove(fields: readonly DeleteField[], token: Secret) {
    const group: RemovableGroup = {
      user_group_id: this.#id,
      token,
      withoutId: !fields.includes("user_group_id"),
      // A data source that doesn't exist: no DELETE of a canary may name a real one.
      dataSourceId: fields.includes("data_source_provided_id") ? this.#id : null,
    };
    return this.#calls.remove(group);
  }
}

function unclearBy(called: Unanswered): Unclear {
  if (called.kind === "interrupted") return { kind: "unclear", failure: undefined };
  const { code, message } = called.failure;
  return { kind: "unclear", failure: { code, message } };
}

interface Run extends ServiceCalling {
  /** Aborts when the run has to end. */
  readonly signal: AbortSignal;
}

/** For how long a sync tries to delete a canary, in milliseconds. */
const LONGEST_IN_A_SYNC = 60_000;
/** The longest pause before a sync repeats a call for a canary, in milliseconds. Enough for failures that come at random. */
const LONGEST_WAIT_IN_A_SYNC = 2_000;

/**
 * Deletes the canary that an earlier probe has left at the service, because it was killed or its DELETE failed. Resolves to
 * CANARY_REMAINS if the service still has the canary. Once `ending` aborts, no call starts. Rejects if the run has to end.
 */
export async function deleteLeftCanary(
  run: Run,
  { baseUrl }: { readonly baseUrl: string },
  ending = run.signal,
): Promise<SyncError | undefined> {
  const { ledger, lease } = run;
  const canary = await ledger.canary();
  if (canary === null || ending.aborted) return undefined;
  if (canary.baseUrl !== baseUrl) return isElsewhere(canary);
  const { user_group_id } = canary;
  // A tenant has this id by now, so the group is the tenant's.
  if ((await ledger.of([user_group_id])).length === 0) {
    // A call of the probe may still be under way.
    const calls = new ServiceCalls(run, ending, { intent: "apply", tokenFingerprint: null });
    const { isGone, failure } = await deleteCanary(user_group_id, calls);
    if (!isGone) return remains(user_group_id, failure?.message ?? (ending.aborted ? CUT_SHORT : undefined));
  }
  await ledger.write(lease, (transaction) => transaction.forgetCanary());
  return undefined;
}

/**
 * A sync's last step. A canary is nobody's group: if it can't be deleted, the sync is none the worse. So the sync neither waits
 * long for it, nor takes its failures for a sign that the service is down. The next sync tries again.
 */
export async function deleteCanaryOrWarn(run: Run, at: { readonly baseUrl: string }): Promise<void> {
  const { clock, lease, signal } = run;
  if ((await run.ledger.canary()) === null) return;
  await lease.formerCallsEnded(signal);
  const [late, over] = [new AbortController(), new AbortController()];
  void clock.sleep(LONGEST_IN_A_SYNC, over.signal).then(() => late.abort());
  const hasty: Run = {
    ...run,
    handOn: undefined,
    waitBeforeRetry: async (ms, until) => ms <= LONGEST_WAIT_IN_A_SYNC && run.waitBeforeRetry(ms, until),
  };
  try {
    const left = await deleteLeftCanary(hasty, at, AbortSignal.any([signal, late.signal]));
    if (left === undefined || signal.aborted) return;
    const { code, message, hint = "" } = left;
    run.observe({ kind: "warning", code, message, hint });
  } finally {
    over.abort();
  }
}

const CUT_SHORT = "there was no time left to delete it";

/** The error of a canary that could not be deleted. `reason` is why nobody can tell; without it, no DELETE got through. */
export const remains = (id: string, reason = "the service takes no DELETE for it"): SyncError =>
  new SyncError("CANARY_REMAINS", `the service still has the canary of a probe, ${id}: ${reason}`, {
    hint: `every sync and every probe tries again to delete it. If you delete it by hand, run groupsync probe --forget ${id} afterwards: otherwise the next try makes it anew`,
  });

const isElsewhere = ({ user_group_id: id, baseUrl }: Canary): SyncError =>
  new SyncError("CANARY_REMAINS", `a probe has left its canary, ${id}, at ${baseUrl}`, {
    hint: `run groupsync probe with service.base_url: ${baseUrl}, which deletes it; or delete it by hand, and run groupsync probe --forget ${id}`,
  });

type FailedCall = Extract<Unanswered, { kind: "failed" }>;

/**
 * Whether the service has said no. `isUnchanged`: a GET has shown that the call had no effect, so a server error and an
 * answer that can't be used are a no, too. A token that two groups share is none: then nothing was sent.
 */
export function isNo({ failure, mayHaveHappened }: FailedCall, isUnchanged: boolean): boolean {
  if (failure.code === "TOKEN_SHARED" || (mayHaveHappened && !isUnchanged)) return false;
  return isTokenRefused(failure) || failure.code === "SERVICE_ERROR";
}
