import type { Change } from "../../core/plan/change.ts";
import type { EventOf } from "../../core/record/next.ts";
import type { Begun } from "../../ports/ledger/groups.ts";
import type { LedgerWriting } from "../lease/lease.ts";
import type { Locks } from "../lease/tenant-locks.ts";

interface IntentWriting extends LedgerWriting {
  readonly locks: Locks;
}

/** Most intents in one transaction. */
const LARGEST_CHUNK = 512;
/** The first call waits for the first chunk alone, so the first chunks are small. */
const FIRST_CHUNK = 8;
const GROWTH = 8;

/**
 * Commits the intents in chunks, one chunk ahead of the calls, because a call must not wait for a commit. Withdraws the
 * intents whose calls were never made.
 */
export class IntentQueue {
  readonly #changes: AsyncIterator<Change>;
  readonly #run: IntentWriting;
  readonly #unsent = new Set<Begun>();
  readonly #deferred: Change[] = [];
  #ready: Begun[] = [];
  #ahead: Promise<readonly Begun[]> | undefined;
  #refilling: Promise<void> | undefined;
  #ended = false;
  #size = FIRST_CHUNK;

  constructor(changes: AsyncIterable<Change>, run: IntentWriting) {
    this.#changes = changes[Symbol.asyncIterator]();
    this.#run = run;
  }

  /** The next change whose intent is committed; undefined after the last one. */
  async next(): Promise<Begun | undefined> {
    for (;;) {
      const begun = this.#ready.pop();
      if (begun !== undefined && this.isOpen(begun)) return begun;
      if (begun !== undefined) continue;
      if (this.#ended) return undefined;
      this.#refilling ??= this.#refill().finally(() => {
        this.#refilling = undefined;
      });
      await this.#refilling;
    }
  }

  /** Keeps the intent until an outcome is recorded: the call may have reached the service. */
  keep(begun: Begun): void {
    this.#unsent.delete(begun);
  }

  /** False once the intent is withdrawn: the change must not be made. */
  isOpen(begun: Begun): boolean {
    return this.#unsent.has(begun);
  }

  /** Changes that `next` returns soon. */
  upcoming(): readonly Change[] {
    return this.#ready.map(({ change }) => change).reverse();
  }

  /** Withdraws the intents of these tenants whose calls were not made. Defers their replacements. */
  async withdraw(ids: ReadonlySet<string>): Promise<void> {
    await this.#ahead?.catch(() => {});
    const begun = [...this.#unsent].filter(({ change }) => ids.has(change.user_group_id));
    await this.#withdraw(begun);
    for (const { change } of begun) this.#deferIfReplacement(change);
  }

  /** Withdraws the intent if its call was not made. */
  async withdrawOne(begun: Begun): Promise<void> {
    if (this.isOpen(begun)) await this.#withdraw([begun]);
  }

  /** A replacement whose tenant somebody has looked up, and that has no intent. Undefined if there is none. */
  nextDeferred(): Change | undefined {
    return this.#deferred.pop();
  }

  /** Commits the intent of a change that was deferred. Call this under the lock of its tenant. */
  async begin(change: Change): Promise<Begun> {
    const [begun] = await this.#commit([change]);
    if (begun === undefined) throw new Error("the ledger has begun no change");
    return begun;
  }

  /** If the lease is lost, all intents stay, because a call may have been cut off. The next run settles them. */
  async withdrawUnsent(): Promise<void> {
    await this.#ahead?.catch(() => {});
    await this.#withdraw([...this.#unsent]);
  }

  async #withdraw(unsent: readonly Begun[]): Promise<void> {
    for (const begun of unsent) this.#unsent.delete(begun);
    const { ledger, lease, clock } = this.#run;
    if (unsent.length === 0 || lease.lost.aborted) return;
    const events = unsent.map(
      ({ change, before }): EventOf => ({ kind: "unsent", user_group_id: change.user_group_id, before }),
    );
    await ledger.write(lease, (transaction) => transaction.change(events, clock.now()));
  }

  async #refill(): Promise<void> {
    this.#ahead ??= this.#begin();
    const chunk = await this.#ahead;
    // `next` takes from the end, so reverse the chunk once to keep the order of the plan.
    this.#ready = [...chunk].reverse();
    this.#ended = chunk.length === 0;
    this.#ahead = this.#ended ? undefined : this.#begin();
    // The error reaches the caller that awaits this chunk; here it only must not count as unhandled.
    this.#ahead?.catch(() => {});
  }

  async #begin(): Promise<readonly Begun[]> {
    const { locks } = this.#run;
    const chunk: Change[] = [];
    while (chunk.length < this.#size) {
      const result = await this.#changes.next();
      if (result.done === true) break;
      const { value: change } = result;
      if (locks.wasLookedUp(change.user_group_id)) this.#deferIfReplacement(change);
      else chunk.push(change);
    }
    if (chunk.length === 0) return [];
    this.#size = Math.min(this.#size * GROWTH, LARGEST_CHUNK);
    return this.#commit(chunk);
  }

  async #commit(changes: readonly Change[]): Promise<readonly Begun[]> {
    const { ledger, lease, clock } = this.#run;
    const events = changes.map(
      (change): EventOf => ({ kind: "begun", user_group_id: change.user_group_id, change }),
    );
    const before = await ledger.write(lease, (transaction) => transaction.change(events, clock.now()));
    const begun = changes.map((change) => ({ change, before: before.get(change.user_group_id) ?? null }));
    for (const entry of begun) this.#unsent.add(entry);
    return begun;
  }

  /** Only a full sync replaces a group, so a lookup of its tenant doesn't make the replacement. */
  #deferIfReplacement(change: Change): void {
    if (change.kind === "replace") this.#deferred.push(change);
  }
}
