import type { ServiceFailure } from "../core/failure/service-failure.ts";
import { interrupted, SyncError } from "../core/failure/sync-error.ts";
import {
  CANARY_NAME,
  canaryGroup,
  canaryId,
  findingsOf,
  type Observations,
  OTHER_CANARY_NAME,
  type ProbeFindings,
  type SeenPost,
  updatesBy,
} from "../core/probe/findings.ts";
import type { Secret } from "../core/secret/secret.ts";
import { type CanaryDeletion, deleteAtEnd, deleteLeftCanary, isNo, remains } from "./canary.ts";
import { leasedRun, NO_TOKENS, type RunPorts, type RunSettings } from "./leased-run.ts";
import type { RunReport } from "./report/run-report.ts";
import { ServiceCalls, type Unanswered } from "./service/service-calls.ts";
import { lostLedgerWarnings } from "./tokens/lost-ledger.ts";

export interface ProbeReport {
  readonly run: RunReport;
  /** Null if no canary was made. */
  readonly findings: ProbeFindings | null;
  /** Null if none was begun. `gone`: the service has it no more, for certain. */
  readonly canary: { readonly user_group_id: string; readonly gone: boolean } | null;
  /** Whether a GET changes an existing group, if the ledger has learned that. */
  readonly updates: boolean | null;
}

/**
 * Finds out with one canary how the service behaves where its interface leaves that open, and deletes the canary.
 *
 * The canary is no group of a tenant, so it has no row among the ledger's groups: it is in no plan, no count, no limit for
 * removals and no token store, and no missing tenant is its reason to be deleted. Its mark is a row of its own, committed
 * before the first call and taken away after the last one. Whenever this process dies in between, the mark says that the
 * canary may exist. The next sync or probe then deletes it, after the calls under way have ended: a GET returns the
 * canary's live token, and makes it anew if it was never made or is gone already, and a DELETE with that token follows.
 * So it doesn't matter at which call the process died.
 *
 * The report's error is CANARY_REMAINS if the service still has the canary.
 */
export async function probe(
  ports: RunPorts,
  settings: RunSettings,
  signal: AbortSignal,
): Promise<ProbeReport> {
  const found: Writable<Omit<ProbeReport, "run">> = { findings: null, canary: null, updates: null };
  const withoutTokens = { ...ports, tokens: NO_TOKENS };
  const run = await leasedRun("probe", withoutTokens, settings, signal, async (run, service) => {
    const { tokens } = ports;
    const { ledger, lease, clock, identity } = run;
    // A ledger that knows a service doesn't count as lost any more, so the next sync could not warn.
    const warnings = await lostLedgerWarnings({ ledger, tokens }, service);
    for (const warning of warnings) run.observe(warning);
    const mayKnowService = warnings.length === 0;
    const left = await deleteLeftCanary(run, settings);
    if (left) throw left;
    const user_group_id = canaryId(() => clock.random());
    const { baseUrl } = settings;
    await ledger.write(lease, (transaction) =>
      transaction.recordScope({ canary: { user_group_id, baseUrl } }),
    );
    found.canary = { user_group_id, gone: false };
    const calls = new ServiceCalls(run, run.signal, null);
    const { seen, live, failed } = await askService(user_group_id, calls).catch(async (error: unknown) => {
      // The service has refused the call that would have made the canary.
      if (!calls.mayHaveHappened) {
        await ledger.write(lease, (transaction) => transaction.recordScope({ canary: null }));
        found.canary = { user_group_id, gone: true };
      }
      throw error;
    });
    const deletion = calls.mayHaveHappened ? await deleteAtEnd(user_group_id, live, run) : NEVER_MADE;
    found.canary = { user_group_id, gone: deletion.isGone };
    if (seen.created) {
      found.findings = findingsOf({ ...seen, deletes: deletion.tries });
      identity.learnFromProbe(updatesBy(found.findings));
    }
    const known = mayKnowService ? identity.unrecorded : undefined;
    await ledger.write(lease, (transaction) =>
      transaction.recordScope({ service: known, ...(deletion.isGone && { canary: null }) }),
    );
    if (mayKnowService) found.updates = found.findings && (updatesBy(found.findings) ?? null);
    if (!deletion.isGone) throw remains(user_group_id, deletion.failure?.message);
    if (run.signal.aborted) throw interrupted();
    if (failed) throw failed;
  });
  return { run, ...found };
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

const NEVER_MADE: CanaryDeletion = { isGone: true, tries: [] };

/** Takes the mark away that `probe` or an earlier one made. Sends nothing: somebody has deleted the canary by hand. */
export const forgetCanary = (
  ports: RunPorts,
  settings: RunSettings,
  id: string,
  signal: AbortSignal,
): Promise<RunReport> =>
  leasedRun(
    "probe --forget",
    { ...ports, tokens: NO_TOKENS },
    settings,
    signal,
    async ({ ledger, lease }) => {
      const { canary } = await ledger.scope();
      if (canary?.user_group_id !== id) {
        throw new SyncError("UNKNOWN_ID", `the ledger knows of no canary ${JSON.stringify(id)}`, {
          hint: canary
            ? `it knows of ${canary.user_group_id}`
            : "it knows of none, so no sync has to delete one",
        });
      }
      await ledger.write(lease, (transaction) => transaction.recordScope({ canary: null }));
    },
  );

/** What the service has answered, without the DELETEs. */
interface Asked {
  readonly seen: Omit<Observations, "deletes">;
  /** The canary's live token, if it is known. */
  readonly live: Secret | undefined;
  /** Why a question has no answer; undefined if each has one, or if the run is ending. */
  readonly failed: ServiceFailure | undefined;
}

/**
 * Makes the canary, and asks with it what the interface leaves open. The first call that fails ends the questions, but a
 * clear refusal of a POST is an answer. Rejects if the run has to end.
 */
async function askService(id: string, calls: ServiceCalls): Promise<Asked> {
  let seen: Asked["seen"] = {};
  let live: Secret | undefined;

  /** Resolves to the call, if it was not answered well. */
  const get = async (
    question: "created" | "repeated" | "renamed" | "afterwards",
    sentName: string,
  ): Promise<Unanswered | undefined> => {
    const called = await calls.getOrCreate(canaryGroup(id, sentName));
    if (called.kind !== "answered") return called;
    const { isNew, group } = called.answer;
    const { name, token } = group;
    seen = { ...seen, [question]: { name, isNew, token, mayHaveBeenSent: called.mayHaveBeenSent } };
    live = token;
    return undefined;
  };

  const post = async (question: "rotated" | "reused", token: Secret): Promise<Unanswered | undefined> => {
    const answer = await answerToPost(id, token, live, calls);
    if (answer.kind !== "carried out" && answer.kind !== "refused") return answer;
    seen = { ...seen, [question]: answer };
    if (answer.kind === "carried out") live = answer.token;
    return undefined;
  };

  const rotate = async (): Promise<Unanswered | undefined> => {
    const former = live;
    if (former === undefined) return undefined;
    const failed = await post("rotated", former);
    // Without a new token there is no old one.
    return failed || live?.equals(former) ? failed : post("reused", former);
  };

  const unanswered =
    (await get("created", CANARY_NAME)) ??
    (await get("repeated", CANARY_NAME)) ??
    (await get("renamed", OTHER_CANARY_NAME)) ??
    (await rotate()) ??
    (await get("afterwards", OTHER_CANARY_NAME));
  return { seen, live, failed: unanswered?.kind === "failed" ? unanswered.failure : undefined };
}

/** A POST whose answer is lost may have given a new token: a GET tells. `live` is the canary's token before the POST. */
async function answerToPost(
  id: string,
  token: Secret,
  live: Secret | undefined,
  calls: ServiceCalls,
): Promise<SeenPost | Unanswered> {
  const called = await calls.rotate(id, token);
  if (called.kind === "interrupted") return called;
  if (called.kind === "answered")
    return { kind: "carried out", token: called.answer.token, name: called.answer.name };
  if (called.mayHaveHappened) {
    const found = await calls.getOrCreate(canaryGroup(id, OTHER_CANARY_NAME));
    if (found.kind !== "answered") return found;
    const { token: now } = found.answer.group;
    if (!live?.equals(now)) return { kind: "carried out", token: now, name: null };
  }
  return isNo(called) ? { kind: "refused", text: called.failure.message } : called;
}
