import type { ServiceFailure } from "../core/failure/service-failure.ts";
import { type Failure, interrupted, SyncError } from "../core/failure/sync-error.ts";
import {
  CANARY_NAME,
  canaryGroup,
  canaryId,
  type DeleteField,
  findingsOf,
  type Observations,
  OTHER_CANARY_NAME,
  type ProbeFindings,
  type SeenPost,
  updatesBy,
} from "../core/probe/findings.ts";
import type { Secret } from "../core/secret/secret.ts";
import { canariesIn, deleteCanary, record } from "./canary.ts";
import { leasedRun, NO_TOKENS, type Run, type RunPorts, type RunSettings } from "./leased-run.ts";
import type { RunReport } from "./report/run-report.ts";
import { isTokenRefused, ServiceCalls, type Unanswered } from "./service/service-calls.ts";
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
 * The canary is in the ledger like any group, before the first call, and it is marked as one: it is in no count of tenants, no limit
 * for removals and no token store. If this process dies, the next sync deletes it, without a grace period.
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
    for (const left of await canariesIn(ledger)) {
      const failure = await deleteCanary(left, run);
      if (run.signal.aborted) throw interrupted();
      if (failure) throw remains(left, failure.message);
    }
    const user_group_id = canaryId(() => clock.random());
    await record({ kind: "probed", user_group_id, baseUrl: identity.baseUrl }, run);
    found.canary = { user_group_id, gone: false };
    const calls = new ServiceCalls(run, run.signal, null);
    let asked: Asked;
    try {
      asked = await askService(user_group_id, calls);
    } finally {
      if (!calls.mayHaveHappened) {
        await record({ kind: "unsent", user_group_id, before: null }, run);
        found.canary = { user_group_id, gone: true };
      }
    }
    const { seen, failed } = asked;
    if (seen.created) {
      found.findings = findingsOf(seen);
      identity.learnFromProbe(updatesBy(found.findings));
    }
    const last = seen.deletes.at(-1);
    // If no DELETE deletes it, another one wouldn't either.
    const isKept = last !== undefined && last.result !== "deleted";
    const reason = isKept ? last.text : (await deleteAtEnd(user_group_id, run))?.message;
    const isGone = (await ledger.records([user_group_id])).size === 0;
    found.canary = { user_group_id, gone: isGone };
    const known = mayKnowService ? identity.unrecorded : undefined;
    await ledger.write(lease, (transaction) => transaction.recordScope({ service: known }));
    if (mayKnowService) found.updates = found.findings && (updatesBy(found.findings) ?? null);
    if (!isGone) throw remains(user_group_id, reason);
    if (run.signal.aborted) throw interrupted();
    if (failed) throw failed;
  });
  return { run, ...found };
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** For how long the canary may be deleted once the run is told to end, in milliseconds. */
const LONGEST_DELETION_AT_THE_END = 10_000;

/** Deletes the canary even if the run is told to end. */
async function deleteAtEnd(id: string, run: Run): Promise<Failure | undefined> {
  const failure = await deleteCanary(id, run);
  if (!run.signal.aborted) return failure;
  const [late, over] = [new AbortController(), new AbortController()];
  void run.clock.sleep(LONGEST_DELETION_AT_THE_END, over.signal).then(() => late.abort());
  return deleteCanary(id, { ...run, signal: late.signal }).finally(() => over.abort());
}

const remains = (id: string, reason: string | null | undefined): SyncError =>
  new SyncError(
    "CANARY_REMAINS",
    `the service still has the canary of a probe, ${id}: ${reason ?? "there was no time left to delete it"}`,
    {
      hint: `later syncs and probes try again to delete it. If you delete it by hand, run groupsync probe --forget ${id} afterwards: otherwise the next try makes it anew`,
    },
  );

/** Takes a canary out of the ledger. Sends nothing: somebody has deleted it by hand. */
export const forgetCanary = (
  ports: RunPorts,
  settings: RunSettings,
  id: string,
  signal: AbortSignal,
): Promise<RunReport> =>
  leasedRun("probe --forget", { ...ports, tokens: NO_TOKENS }, settings, signal, async (run) => {
    const canaries = await canariesIn(run.ledger);
    if (!canaries.includes(id)) {
      throw new SyncError("UNKNOWN_ID", `the ledger knows of no canary ${JSON.stringify(id)}`, {
        hint:
          canaries.length > 0
            ? `it knows of ${canaries.join(", ")}`
            : "it knows of none, so no sync has to delete one",
      });
    }
    await record({ kind: "unsent", user_group_id: id, before: null }, run);
  });

interface Asked {
  readonly seen: Observations;
  /** Why a question has no answer; undefined if each has one, or if the run is ending. */
  readonly failed: ServiceFailure | undefined;
}

/**
 * Makes the canary, and asks with it what the interface leaves open. The first call that fails ends the questions, but a
 * clear refusal of a POST is an answer. Rejects if the run has to end.
 */
async function askService(id: string, calls: ServiceCalls): Promise<Asked> {
  let seen: Observations = { deletes: [] };
  let live: Secret | undefined;

  /** Resolves to the call, if it was not answered well. */
  const get = async (
    question: "created" | "repeated" | "renamed" | "afterwards" | "remade",
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

  /** A DELETE's answer alone is no proof, so a GET looks whether the canary is gone, and makes it anew. */
  const remove = async (fields: readonly DeleteField[]): Promise<Unanswered | undefined> => {
    const former = live;
    if (former === undefined || seen.deletes.at(-1)?.result === "deleted") return undefined;
    // A data source that doesn't exist: no DELETE of a canary may name a real one.
    const dataSourceId = fields.includes("data_source_provided_id") ? id : null;
    const called = await calls.remove({ user_group_id: id, token: former, dataSourceId });
    if (called.kind === "interrupted") return called;
    const isAnswered = called.kind === "answered";
    const unseen = isAnswered || called.mayHaveHappened ? await get("remade", CANARY_NAME) : undefined;
    if (unseen) return unseen;
    // If the answer of an earlier GET was lost, that GET has made the canary anew.
    const isGone = seen.remade?.isNew || (seen.remade?.mayHaveBeenSent && !live?.equals(former));
    const result = isGone ? "deleted" : isAnswered || isNo(called) ? "refused" : "failed";
    const text = isGone ? null : isAnswered ? NO_EFFECT : called.failure.message;
    seen = { ...seen, deletes: [...seen.deletes, { fields, result, text }] };
    return result === "failed" && !isAnswered ? called : undefined;
  };

  const unanswered =
    (await get("created", CANARY_NAME)) ??
    (await get("repeated", CANARY_NAME)) ??
    (await get("renamed", OTHER_CANARY_NAME)) ??
    (await rotate()) ??
    (await get("afterwards", OTHER_CANARY_NAME)) ??
    (await remove(["current_token", "user_group_id"])) ??
    (await remove(["current_token", "user_group_id", "data_source_provided_id"]));
  return { seen, failed: unanswered?.kind === "failed" ? unanswered.failure : undefined };
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

const NO_EFFECT = "DELETE was answered with success, but a GET finds the group as before";

/**
 * Whether the service has said no, if the call had no effect: with a server error, or an answer that can't be used, too. A
 * token that two groups share is no refusal: then nothing was sent.
 */
const isNo = ({ failure }: Extract<Unanswered, { kind: "failed" }>): boolean =>
  failure.code !== "TOKEN_SHARED" && (isTokenRefused(failure) || failure.code === "SERVICE_ERROR");
