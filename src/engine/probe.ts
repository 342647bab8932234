import type { ServiceFailure } from "../core/failure/service-failure.ts";
import { interrupted, SyncError } from "../core/failure/sync-error.ts";
import { digestSeed } from "../core/group/desired-group.ts";
import { columnsOf, type GroupRules } from "../core/group/group-rules.ts";
import {
  type AnswerFacts,
  CANARY_NAME,
  canaryGroup,
  canaryId,
  findingsOf,
  type Observations,
  OTHER_CANARY_NAME,
  type ProbeFindings,
  type SeenGet,
  type SeenPost,
  updatesBy,
} from "../core/probe/findings.ts";
import type { Secret } from "../core/secret/secret.ts";
import type { TenantSource } from "../ports/tenant-source.ts";
import { type CanaryDeletion, deleteCanary, deleteLeftCanary, isNo, remains } from "./canary.ts";
import { leasedRun, NO_TOKENS, type Run, type RunPorts, type RunSettings } from "./leased-run.ts";
import { tableBefore } from "./plan/make-plan.ts";
import type { RunReport } from "./report/run-report.ts";
import { ServiceCalls, type Unanswered } from "./service/service-calls.ts";
import { lostLedgerWarnings } from "./tokens/moved-destinations.ts";

export interface ProbePorts extends RunPorts {
  readonly source: Pick<TenantSource, "lookUps">;
  /** What the transport tells of the answers so far. */
  readonly answers: readonly AnswerFacts[];
}

export interface ProbeSettings extends RunSettings {
  readonly rules: GroupRules;
  /** Describes the source, without secrets. */
  readonly source: string;
}

export interface ProbeReport {
  readonly run: RunReport;
  /** Null if no canary was made. */
  readonly findings: ProbeFindings | null;
  /** Null if none was begun. */
  readonly canary: ProbedCanary | null;
  /** Whether a GET changes an existing group, if the ledger has learned that. */
  readonly updates: boolean | null;
}

interface ProbedCanary {
  readonly user_group_id: string;
  /** Whether the service has it no more, for certain. */
  readonly isGone: boolean;
}

/** For how long a canary may be deleted once the run is told to end, in milliseconds. */
const LONGEST_DELETION_AT_THE_END = 10_000;

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
  ports: ProbePorts,
  settings: ProbeSettings,
  signal: AbortSignal,
): Promise<ProbeReport> {
  const found: Writable<Omit<ProbeReport, "run">> = { findings: null, canary: null, updates: null };
  const withoutTokens = { ...ports, tokens: NO_TOKENS };
  const run = await leasedRun("probe", withoutTokens, settings, signal, async (run, service) => {
    const { tokens } = ports;
    // A ledger that knows a service doesn't count as lost any more, so the next sync could not warn.
    const warnings = await lostLedgerWarnings({ ledger: run.ledger, tokens }, service);
    for (const warning of warnings) run.observe(warning);
    const mayKnowService = warnings.length === 0;
    const left = await deleteLeftCanary(run, settings);
    if (left) throw left;
    const { ledger, lease, clock, identity } = run;
    const id = await unusedId(ports, settings, run);
    const { baseUrl } = settings;
    await ledger.write(lease, (transaction) =>
      transaction.beginCanary({ user_group_id: id, baseUrl }, clock.now()),
    );
    found.canary = { user_group_id: id, isGone: false };
    const calls = new ServiceCalls(run, run.signal, null);
    const { seen, live, failure } = await askService(id, calls).catch(async (error: unknown) => {
      if (!calls.mayHaveHappened) found.canary = await forgetNeverMade(found.canary, run);
      throw error;
    });
    const deletion = calls.mayHaveHappened ? await deleteAtEnd(id, seen, live, run) : NEVER_MADE;
    found.canary = { user_group_id: id, isGone: deletion.isGone };
    if (seen.created) {
      found.findings = findingsOf({ ...seen, deletes: deletion.tries }, ports.answers);
      identity.learnFromProbe(updatesBy(found.findings));
    }
    await record(deletion, { mayKnowService }, run);
    if (mayKnowService) found.updates = found.findings && (updatesBy(found.findings) ?? null);
    if (!deletion.isGone) throw remains(id, deletion.failure?.message);
    if (run.signal.aborted) throw interrupted();
    if (failure) throw failure;
  });
  return { run, ...found };
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

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
      const canary = await ledger.canary();
      if (canary?.user_group_id !== id) {
        throw new SyncError("UNKNOWN_ID", `the ledger knows of no canary ${JSON.stringify(id)}`, {
          hint: canary
            ? `it knows of ${canary.user_group_id}`
            : "it knows of none, so no sync has to delete one",
        });
      }
      await ledger.write(lease, (transaction) => transaction.forgetCanary());
    },
  );

const NEVER_MADE: CanaryDeletion = { isGone: true, tries: [] };

/** The service has refused the call that would have made the canary. */
async function forgetNeverMade(
  canary: ProbedCanary | null,
  { ledger, lease }: Run,
): Promise<ProbedCanary | null> {
  await ledger.write(lease, (transaction) => transaction.forgetCanary());
  return canary && { ...canary, isGone: true };
}

/** Deletes the canary even if the run is told to end. */
async function deleteAtEnd(
  id: string,
  { created, repeated }: Asked["seen"],
  live: Secret | undefined,
  run: Run,
): Promise<CanaryDeletion> {
  const over = new AbortController();
  const ending = AbortSignal.any([run.lease.lost, shortlyAfter(run, over.signal)]);
  const calls = new ServiceCalls(run, ending, { intent: "apply", tokenFingerprint: null });
  const everyGetHasAnother = created !== undefined && repeated?.token.equals(created.token) === false;
  try {
    return await deleteCanary(id, calls, { live, everyGetHasAnother });
  } finally {
    over.abort();
  }
}

/** Records what was learned of the service. Takes the mark away if the canary is gone. */
async function record(
  { isGone }: CanaryDeletion,
  { mayKnowService }: { readonly mayKnowService: boolean },
  { ledger, lease, identity }: Run,
): Promise<void> {
  const known = mayKnowService ? identity.unrecorded : undefined;
  await ledger.write(lease, async (transaction) => {
    if (known) await transaction.bindService(known);
    if (isGone) await transaction.forgetCanary();
  });
}

/** Aborts a while after the run is told to end, unless `over` aborts first. */
function shortlyAfter({ signal, clock }: Pick<Run, "signal" | "clock">, over: AbortSignal): AbortSignal {
  const late = new AbortController();
  const wait = async (): Promise<void> => {
    await clock.sleep(LONGEST_DELETION_AT_THE_END, over);
    late.abort();
  };
  if (signal.aborted) void wait();
  else signal.addEventListener("abort", wait, { once: true, signal: over });
  return late.signal;
}

/** Neither the source nor the ledger has this id. Rejects as they do. */
async function unusedId(
  { source, clock }: ProbePorts,
  settings: ProbeSettings,
  { ledger, signal }: Run,
): Promise<string> {
  const { rules } = settings;
  const before = await tableBefore(ledger, settings.source);
  const lookUps = await source.lookUps(columnsOf(rules), digestSeed(rules), signal, before);
  try {
    for (;;) {
      const id = canaryId(() => clock.random());
      const [rows, groups] = [await lookUps.rowsOf([id]), await ledger.of([id])];
      if (rows.length + groups.length === 0) return id;
    }
  } finally {
    await lookUps.close();
  }
}

/** What the service has answered, without the DELETEs. */
interface Asked {
  readonly seen: Omit<Observations, "deletes">;
  /** The canary's live token, if it is known. */
  readonly live: Secret | undefined;
  /** Why a question has no answer; undefined if each has one, or if the run is ending. */
  readonly failure: ServiceFailure | undefined;
}

/**
 * Makes the canary, and asks with it what the interface leaves open. The first call that fails ends the questions, but a
 * clear refusal of a POST is an answer. Rejects if the run has to end.
 */
async function askService(id: string, calls: ServiceCalls): Promise<Asked> {
  const questions = new Questions(id, calls);
  const failed = await questions.ask();
  const { seen, live } = questions;
  return { seen, live, failure: failed?.kind === "failed" ? failed.failure : undefined };
}

class Questions {
  readonly #id: string;
  readonly #calls: ServiceCalls;
  seen: Asked["seen"] = {};
  live: Secret | undefined;

  constructor(id: string, calls: ServiceCalls) {
    this.#id = id;
    this.#calls = calls;
  }

  /** Resolves to the call that got no answer; undefined if all were answered. */
  async ask(): Promise<Unanswered | undefined> {
    for (const [question, name] of [
      ["created", CANARY_NAME],
      ["repeated", CANARY_NAME],
      ["renamed", OTHER_CANARY_NAME],
    ] as const) {
      const failed = await this.#get(question, name);
      if (failed) return failed;
    }
    return (await this.#rotate()) ?? (await this.#get("afterwards", OTHER_CANARY_NAME));
  }

  async #get(
    question: "created" | "repeated" | "renamed" | "afterwards",
    sentName: string,
  ): Promise<Unanswered | undefined> {
    const called = await this.#calls.getOrCreate(canaryGroup(this.#id, sentName));
    if (called.kind !== "answered") return called;
    const { isNew, group } = called.answer;
    const { name, token } = group;
    const seen: SeenGet = { sentName, name, isNew, token, mayHaveBeenSent: called.mayHaveBeenSent };
    this.seen = { ...this.seen, [question]: seen };
    this.live = token;
    return undefined;
  }

  async #rotate(): Promise<Unanswered | undefined> {
    const { live: former } = this;
    if (former === undefined) return undefined;
    const failed = await this.#post("rotated", former);
    if (failed || this.live === undefined || this.live.equals(former)) return failed;
    return this.#post("reused", former);
  }

  /** A POST whose answer is lost may have given a new token: a GET tells. */
  async #post(question: "rotated" | "reused", token: Secret): Promise<Unanswered | undefined> {
    const called = await this.#calls.rotate(this.#id, token);
    if (called.kind === "interrupted") return called;
    if (called.kind === "answered") {
      const { token: live, name } = called.answer;
      return this.#note(question, { kind: "answered", token: live, name }, live);
    }
    const { failure, mayHaveHappened } = called;
    if (mayHaveHappened) {
      const found = await this.#calls.getOrCreate(canaryGroup(this.#id, OTHER_CANARY_NAME));
      if (found.kind !== "answered") return found;
      const { token: live } = found.answer.group;
      if (!this.live?.equals(live)) return this.#note(question, { kind: "carried out", token: live }, live);
    }
    return isNo(called, mayHaveHappened)
      ? this.#note(question, { kind: "refused", text: failure.message })
      : called;
  }

  #note(question: "rotated" | "reused", seen: SeenPost, live = this.live): undefined {
    this.seen = { ...this.seen, [question]: seen };
    this.live = live;
  }
}
