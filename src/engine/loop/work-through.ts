import type { Outcome } from "../../core/apply/outcome.ts";
import type { Failure } from "../../core/failure/sync-error.ts";
import { type Change, isRemoval, type Removal, type Step } from "../../core/plan/change.ts";
import type { GroupEvent } from "../../core/record/next.ts";
import type { GroupRecord } from "../../core/record/record.ts";
import type { Hold, KeyTable } from "../lease/keys.ts";
import type { WaitBeforeRetry } from "../service/call-with-retries.ts";
import { type ServiceCalling, ServiceCalls } from "../service/service-calls.ts";
import type { TokenWriting } from "../tokens/token-writing.ts";
import type { Committed, Entry } from "./committer.ts";
import { type OutcomeRecording, recordOutcome } from "./outcome.ts";
import type { RemovalCheck } from "./removal-check.ts";
import { deleteGroup, replaceGroup } from "./remove-group.ts";
import { Slots } from "./slots.ts";
import { upsertGroup } from "./upsert-group.ts";

/** What a step needs to make changes at the service. */
export interface Applying extends ServiceCalling, OutcomeRecording, TokenWriting {
  readonly keys: KeyTable;
  readonly removals: Pick<RemovalCheck, "isStillRight">;
  /** Most calls in flight. */
  readonly concurrency: number;
}

/** Work on a group that is decided by its record, once nobody else works on it. */
export interface Work {
  readonly user_group_id: string;
  /** Undefined: nothing is to be done. Asked again if a lookup of the tenant comes before the call. */
  decide(record: GroupRecord | null): Step | undefined;
  /**
   * Sends the calls of a step that is no change. Resolves to whether it has recorded what became of them. Rejects if the run has
   * to end.
   */
  call?(before: GroupRecord, calls: ServiceCalls): Promise<boolean>;
}

/** Work, or a change that a plan has decided by an older snapshot. */
export type WorkOrChange = Work | Change;

interface Options {
  /** The most calls at a time. Left out: as many as the run may send, and one until an answer confirms the service and the team. */
  readonly most?: number;
  /** Begins no change after this aborts. Changes in flight go on to their end, with all their retries. */
  readonly until?: AbortSignal;
  /** Sends no call after this aborts, not even a retry. Calls in flight are awaited, and their answers recorded. */
  readonly stop?: AbortSignal;
  /** Called with each outcome, before it is recorded. */
  readonly answered?: (outcome: Outcome) => void;
}

/**
 * Works on groups: each one takes its turn, see `Turns`. Rejects if the run has to end, after it has recorded all answers that
 * have come.
 */
export async function workThrough(
  work: AsyncIterable<WorkOrChange>,
  run: Applying,
  options: Options = {},
): Promise<void> {
  const turns = new Turns(run, options);
  const left = work[Symbol.asyncIterator]();
  try {
    while (await turns.hasRoom()) {
      const next = await left.next();
      if (next.done === true) break;
      turns.begin(next.value);
    }
  } catch (error) {
    turns.fail(error);
  }
  await turns.ended();
}

/** A step whose intent is committed, and what the ledger knew of the group before. */
interface Begun {
  readonly step: Step;
  readonly before: GroupRecord | null;
}

/**
 * The turns of groups, side by side. A turn holds its group, so that nobody else works on it: decision and intent → calls → token
 * store → ledger. Each step is durable before the next one starts. A turn waits for its slot with its intent committed, because a
 * call must not wait for a commit. If it never sends its call, it withdraws the intent.
 */
class Turns {
  readonly #run: Applying;
  /** The most turns at a time. */
  readonly #most: number;
  readonly #answered: (outcome: Outcome) => void;
  readonly #ending = new AbortController();
  /** Once it aborts, no call is sent. */
  readonly #signal: AbortSignal;
  /** Once it aborts, nothing begins. */
  readonly #beginning: AbortSignal;
  readonly #open = new Set<Promise<void>>();
  readonly #slots: Slots;
  /** Removals whose intent is committed. */
  readonly #removals = new Set<Removal>();
  #failure: { readonly error: unknown } | undefined;
  #ended: () => void = () => {};

  constructor(run: Applying, { most, until, stop, answered = () => {} }: Options) {
    this.#run = run;
    this.#most = most ?? Number.POSITIVE_INFINITY;
    this.#answered = answered;
    this.#signal = AbortSignal.any([run.signal, this.#ending.signal, ...(stop ? [stop] : [])]);
    this.#beginning = AbortSignal.any([this.#signal, ...(until ? [until] : [])]);
    this.#slots = new Slots(() => most ?? (run.identity.confirmed ? run.concurrency : 1));
    this.#beginning.addEventListener("abort", () => this.#slots.close(), { once: true });
    if (this.#beginning.aborted) this.#slots.close();
  }

  /** Waits until a turn may begin. Resolves to false if none will. */
  async hasRoom(): Promise<boolean> {
    const isFull = (): boolean => this.#open.size >= Math.min(this.#most, this.#run.committer.ahead);
    while (!this.#beginning.aborted && isFull())
      await new Promise<void>((resolve) => {
        this.#ended = resolve;
      });
    return !this.#beginning.aborted;
  }

  begin(work: WorkOrChange): void {
    const turn = this.#turn(work)
      .catch((error: unknown) => this.fail(error))
      .finally(() => {
        this.#open.delete(turn);
        this.#ended();
      });
    this.#open.add(turn);
  }

  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#ending.abort();
    this.#ended();
  }

  async ended(): Promise<void> {
    await Promise.all(this.#open);
    // Node.js keeps a signal that was made of others, and all that listens to it, until it aborts.
    this.#ending.abort();
    if (this.#failure) throw this.#failure.error;
  }

  async #turn(work: WorkOrChange): Promise<void> {
    const { keys } = this.#run;
    const { user_group_id: id } = work;
    // A lookup makes a planned change outdated, except a replacement: only a full sync replaces a group.
    const isDropped = (): boolean => "kind" in work && work.kind !== "replace" && keys.wasLookedUp(id);
    for (let isOver = false; !isOver; ) {
      // A turn that waits for its group takes the place of another one.
      if (isDropped()) return;
      const hold = await keys.hold([id]);
      try {
        if (this.#beginning.aborted || isDropped()) return;
        const begun = await this.#begin(work);
        isOver = begun === undefined || (await this.#make(work, begun, hold));
      } finally {
        hold.release();
      }
    }
  }

  async #begin(work: WorkOrChange): Promise<Begun | undefined> {
    let step: Step | undefined;
    const by = (record: GroupRecord | null): GroupEvent | null => {
      step = "kind" in work ? work : work.decide(record);
      return step ? { kind: "begun", change: step } : null;
    };
    const { user_group_id } = work;
    const { before } = await this.#commit({ user_group_id, events: () => [{ kind: "decided", by }] });
    return step && { step, before };
  }

  /** Does what was begun. Resolves to false if a lookup made it outdated before its last call was sent. */
  async #make(work: WorkOrChange, { step, before }: Begun, { decision }: Hold): Promise<boolean> {
    const run = this.#run;
    let isSent = false;
    const onEffect = (): void => {
      isSent = true;
    };
    const removal = isRemoval(step) ? step : undefined;
    if (removal) this.#removals.add(removal);
    const slot = await this.#slots.enter(decision);
    try {
      if (slot === undefined) return !decision.isOutdated;
      let hasReturned = false;
      const mayStillSend = async (): Promise<boolean> => {
        hasReturned = removal !== undefined && !(await this.#isStillRight(removal));
        // No row tells whether a token is to be rotated.
        return !hasReturned && (step.kind === "rotate" || !decision.isOutdated);
      };
      const wait: WaitBeforeRetry = (ms, until) => slot.whileWaiting(() => run.clock.sleep(ms, until));
      const waitBeforeRetry = run.identity.confirmed ? wait : undefined;
      const options = { onEffect, waitBeforeRetry, mayStillSend };
      const calls = new ServiceCalls(run, this.#signal, before, options);
      if (step.kind === "rotate") {
        if (before && "call" in work && (await work.call?.(before, calls))) isSent = true;
        if (calls.endOfRun) this.fail(calls.endOfRun);
        return true;
      }
      const outcome = await outcomeOf(step, before, calls, run);
      slot.leave();
      if (outcome === undefined) {
        // A lookup of the tenant tells itself what becomes of it.
        if (hasReturned && !run.keys.wasLookedUp(step.user_group_id))
          run.tally.report(step.user_group_id, TENANT_RETURNED);
        return !decision.isOutdated;
      }
      // Don't withdraw the intent, even if no call was sent: recording the outcome clears it.
      isSent = true;
      this.#answered(outcome);
      const recorded = recordOutcome(before, outcome, run);
      if (calls.endOfRun) this.fail(calls.endOfRun);
      this.#hurryIfIdle();
      await recorded;
    } catch (error) {
      this.fail(error);
    } finally {
      slot?.leave();
      if (removal) this.#removals.delete(removal);
      if (!isSent) await this.#withdraw(step, before);
    }
    return true;
  }

  /** If the lease is lost, the intent stays, because a call may have been cut off. The next run settles it. */
  async #withdraw({ user_group_id }: Step, before: GroupRecord | null): Promise<void> {
    if (this.#run.lease.lost.aborted) return;
    await this.#commit({ user_group_id, events: () => [{ kind: "unsent", before }] });
  }

  #commit(entry: Entry): Promise<Committed> {
    const committed = this.#run.committer.commit({ ...entry, isUrgent: this.#run.isForSingleTenants });
    this.#hurryIfIdle();
    return committed;
  }

  /** If no call is under way, and none can begin, no further answer comes: the next call waits for the commit. */
  #hurryIfIdle(): void {
    if (this.#slots.isIdle) this.#run.committer.hurry();
  }

  #isStillRight(removal: Removal): Promise<boolean> {
    const { removals, keys } = this.#run;
    return removals.isStillRight(removal, [...this.#removals], keys.wasLookedUp(removal.user_group_id));
  }
}

/** Resolves to undefined if the run is ending: the next run then makes the change. Rejects if the run has to end. */
function outcomeOf(
  change: Change,
  before: GroupRecord | null,
  calls: ServiceCalls,
  run: Applying,
): Promise<Outcome | undefined> {
  switch (change.kind) {
    case "create":
    case "update":
      return upsertGroup(change, before, calls, run);
    case "replace":
      return replaceGroup(change, before, calls, run);
    case "delete":
      return deleteGroup(change, before, calls, run);
  }
}

const TENANT_RETURNED: Failure = {
  code: "TENANT_RETURNED",
  message:
    "its row has come back or changed since the source was read, so its group is not removed; the next sync looks at it again",
};
