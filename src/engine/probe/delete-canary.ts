import type { Failure } from "../../core/failure/sync-error.ts";
import {
  CANARY_NAME,
  canaryGroup,
  type DeleteField,
  type DeleteResult,
  type DeleteTry,
  isDeleted,
  isMadeAnew,
} from "../../core/probe/findings.ts";
import type { Secret } from "../../core/secret/secret.ts";
import type { RemovableGroup } from "../../ports/group-service.ts";
import type { ServiceCalls, Unanswered } from "../service/service-calls.ts";
import { isNo, MOST_TRIES } from "./refusal.ts";

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
    let live = token;
    for (let attempt = 1; ; attempt++) {
      const removed = await this.#remove(fields, live);
      if (removed.kind === "interrupted") return unclearBy(removed);
      const failure = removed.kind === "failed" ? removed.failure : undefined;
      const text = failure?.message ?? null;
      const tried = (result: DeleteResult): Tried => ({ kind: "tried", fields, result, text, live });
      if (removed.kind === "failed" && !removed.mayHaveHappened)
        return isNo(removed, false) ? tried("refused") : unclearBy(removed);
      const found = await this.#get();
      if (found.kind !== "answered") return unclearBy(found);
      const { isNew, group } = found.answer;
      const wasDeleted = isMadeAnew({ isNew, token: group.token }, live, this.#everyGetHasAnother);
      live = group.token;
      if (wasDeleted)
        return failure?.code === "BAD_RESPONSE"
          ? tried("deleted, bad answer")
          : { ...tried("deleted"), text: null };
      if (removed.kind === "answered") return tried("without effect");
      if (removed.failure.code === "BAD_RESPONSE" && attempt < MOST_TRIES) continue;
      return isNo(removed, true) ? tried("refused") : unclearBy(removed);
    }
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
