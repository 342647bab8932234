import { isUsableId } from "../../core/group/tenant.ts";
import type { Clock } from "../../ports/clock.ts";
import type { RequestId, Requests, TenantAnswer } from "../../ports/ledger/lease.ts";
import type { Served } from "../../ports/serve-tenant.ts";

interface AskingPorts {
  readonly ledger: Pick<Requests, "requestTenant" | "answerTo" | "withdrawRequest">;
  readonly clock: Clock;
  /** Names this process. */
  readonly requester: string;
}

/** How often an instance looks for the answer, in milliseconds. */
const LOOK_FOR_ANSWER = 200;
/** How long a request lasts beyond its wait, in milliseconds: its tenant is served even if nobody waits any more. */
const LASTS_LONGER = 60_000;

/** Asks the holder of the lease, through the ledger, to serve one tenant. Resolves as `ServeTenant` does. */
export async function askHolder(
  user_group_id: string,
  waitMs: number,
  { ledger, clock, requester }: AskingPorts,
  stop: AbortSignal,
): Promise<Served> {
  if (!isUsableId(user_group_id)) return { kind: "unknown" };
  const until = clock.monotonic() + waitMs;
  const ask = (): Promise<RequestId> => ledger.requestTenant(user_group_id, requester, waitMs + LASTS_LONGER);
  let request = await ask();
  while (clock.monotonic() < until && !stop.aborted) {
    await clock.sleep(Math.min(LOOK_FOR_ANSWER, until - clock.monotonic()), stop);
    // The first sync is only about to make the ledger's tables.
    if (request === "") request = await ask();
    const answer = await ledger.answerTo(request);
    if (answer === null) continue;
    await ledger.withdrawRequest(request);
    return fromAnswer(answer);
  }
  return { kind: "pending" };
}

/** How the ledger carries what became of a tenant: the kind, and behind a blank the outcome. */
export const toAnswer = (served: Served): TenantAnswer => ({
  outcome: "outcome" in served ? `${served.kind} ${served.outcome}` : served.kind,
  code: "code" in served ? served.code : null,
  message: "message" in served ? served.message : null,
});

/** Undoes `toAnswer`. Another version of this program may have answered: what it says is passed on as it is. */
export function fromAnswer({ outcome, code, message }: TenantAnswer): Served {
  const [kind, detail] = outcome.split(" ", 2);
  const failure = { code: code ?? "UNKNOWN", message: message ?? outcome };
  switch (kind) {
    case "done":
      return { kind, outcome: detail as Extract<Served, { kind: "done" }>["outcome"] };
    case "conflict":
      return { kind, outcome: detail as Extract<Served, { kind: "conflict" }>["outcome"], ...failure };
    case "unknown":
      return { kind };
    default:
      return { kind: "failed", ...failure };
  }
}
