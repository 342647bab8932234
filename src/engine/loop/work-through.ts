import type { Step } from "../../core/plan/change.ts";
import type { GroupEvent } from "../../core/record/next.ts";
import type { GroupRecord } from "../../core/record/record.ts";
import type { Hold, KeyTable } from "../lease/keys.ts";
import type { WaitBeforeRetry } from "../service/call-with-retries.ts";
import { type ServiceCalling, ServiceCalls } from "../service/service-calls.ts";
import type { TokenWriting } from "../tokens/token-writing.ts";
import type { Committed, Entry } from "./committer.ts";
import type { OutcomeRecording } from "./outcome.ts";
import type { RemovalCheck } from "./removal-check.ts";
import { Slots } from "./slots.ts";

/** What a step needs to make changes at the service. */
export interface Applying extends ServiceCalling, OutcomeRecording, TokenWriting {
  readonly keys: KeyTable;
  readonly removals: Pick<RemovalCheck, "isStillRight">;
  readonly concurrency: number;
}

/** Work on one group, which is done once nobody else works on the group. */
export interface Work<S extends Step = Step> {
  readonly user_group_id: string;
  /** What a lookup of the tenant, which sees a newer row, does to it before its first call. */
  readonly uponLookup: "is dropped" | "is decided again" | "goes on";
  /** Asked in the transaction that commits the intent. Undefined: nothing is to be done. */
  decide(record: GroupRecord | null): S | undefined;
  /** Asked right before a call, after all waiting. False: it is not sent. `begun`: what has its intent committed by now. */
  isStillRight?(begun: Iterable<Step>): Promise<boolean>;
  /**
   * Sends the calls. `before`: what the ledger knew before the intent. Resolves to what records the end; to undefined if the next
   * run is to do the work, or a lookup has come before it. Rejects if the run has to end.
   */
  call(step: S, before: GroupRecord | null, calls: ServiceCalls): Promise<(() => Promise<void>) | undefined>;
}

interface Options {
  /** The most calls at a time. Left out: as many as the run may send, and one until an answer confirms the service and the team. */
  readonly mostCalls?: number;
  /** Begins no change after this aborts. Changes in flight go on to their end, with all their retries. */
  readonly until?: AbortSignal;
  /** Sends no call after this aborts, not even a retry. Calls in flight are awaited, and their answers recorded. */
  readonly stop?: AbortSignal;
}

/**
 * Works on groups: each one takes its turn, see `Turns`. Rejects if the run has to end, after it has recorded all answers that
 * have come.
 */
export async function workThrough(
  work: AsyncIterable<Work>,
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
  readonly #mostCalls: number;
  readonly #ending = new AbortController();
  /** Once it aborts, no call is sent. */
  readonly #signal: AbortSignal;
  /** Once it aborts, nothing begins. */
  readonly #beginning: AbortSignal;
  readonly #open = new Set<Promise<void>>();
  readonly #slots: Slots;
  /** What has its intent committed, and not its end. */
  readonly #begun = new Set<Step>();
  #failure: { readonly error: unknown } | undefined;
  #ended: () => void = () => {};

  constructor(run: Applying, { mostCalls, until, stop }: Options) {
    this.#run = run;
    this.#mostCalls = mostCalls ?? Number.POSITIVE_INFINITY;
    this.#signal = AbortSignal.any([run.signal, this.#ending.signal, ...(stop ? [stop] : [])]);
    this.#beginning = AbortSignal.any([this.#signal, ...(until ? [until] : [])]);
    this.#slots = new Slots(() => mostCalls ?? (run.identity.confirmed ? run.concurrency : 1));
    this.#beginning.addEventListener("abort", () => this.#slots.close(), { once: true });
    if (this.#beginning.aborted) this.#slots.close();
  }

  /** Waits until a turn may begin. Resolves to false if none will. */
  async hasRoom(): Promise<boolean> {
    const isFull = (): boolean => this.#open.size >= Math.min(this.#mostCalls, this.#run.committer.ahead);
    while (!this.#beginning.aborted && isFull())
      await new Promise<void>((resolve) => {
        this.#ended = resolve;
      });
    return !this.#beginning.aborted;
  }

  begin(work: Work): void {
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

  async #turn(work: Work): Promise<void> {
    const { keys } = this.#run;
    const { user_group_id: id } = work;
    const isDropped = (): boolean => work.uponLookup === "is dropped" && keys.wasLookedUp(id);
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

  async #begin(work: Work): Promise<Begun | undefined> {
    let step: Step | undefined;
    const by = (record: GroupRecord | null): GroupEvent | null => {
      step = work.decide(record);
      return step ? { kind: "begun", change: step } : null;
    };
    const { user_group_id } = work;
    const { before } = await this.#commit({ user_group_id, events: () => [{ kind: "decided", by }] });
    return step && { step, before };
  }

  /** Does what was begun. Resolves to whether the turn is over: not if a lookup came before its first call. */
  async #make(work: Work, { step, before }: Begun, { decision }: Hold): Promise<boolean> {
    let withdraws = true;
    this.#begun.add(step);
    const slot = await this.#slots.enter(decision);
    try {
      if (slot === undefined) return !decision.isOutdated;
      const onEffect = (): void => {
        withdraws = false;
      };
      const mayStillSend = async (): Promise<boolean> =>
        (await (work.isStillRight?.(this.#begun) ?? true)) &&
        (work.uponLookup === "goes on" || !decision.isOutdated);
      const wait: WaitBeforeRetry = (ms, until) => slot.whileWaiting(() => this.#run.clock.sleep(ms, until));
      const waitBeforeRetry = this.#run.identity.confirmed ? wait : undefined;
      const calls = new ServiceCalls(this.#run, this.#signal, before, {
        onEffect,
        waitBeforeRetry,
        mayStillSend,
      });
      const record = await work.call(step, before, calls);
      slot.leave();
      // Even if no call was sent, the end that is recorded clears the intent.
      if (record) withdraws = false;
      const recorded = record?.();
      if (calls.endOfRun) this.fail(calls.endOfRun);
      this.#hurryIfIdle();
      await recorded;
      return recorded !== undefined || !decision.isOutdated;
    } catch (error) {
      this.fail(error);
      return true;
    } finally {
      slot?.leave();
      this.#begun.delete(step);
      if (withdraws) await this.#withdraw(step, before);
    }
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
}
