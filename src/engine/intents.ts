import type { Change } from "../core/change.ts";
import type { Begun } from "../ports/ledger.ts";
import type { Run } from "./run.ts";

/** Intents committed in one transaction. */
const CHUNK = 500;

/**
 * Commits intents a chunk at a time and one chunk ahead of the calls, so that no call waits for them,
 * and takes back those whose calls were never made.
 */
export class IntentQueue {
  readonly #changes: AsyncIterator<Change>;
  readonly #run: Run;
  readonly #unsent = new Set<Begun>();
  #ready: Begun[] = [];
  #ahead: Promise<readonly Begun[]> | undefined;
  #refilling: Promise<void> | undefined;
  #ended = false;

  constructor(changes: AsyncIterable<Change>, run: Run) {
    this.#changes = changes[Symbol.asyncIterator]();
    this.#run = run;
  }

  /** The next group whose intent is durable; undefined at the end. */
  async next(): Promise<Begun | undefined> {
    while (this.#ready.length === 0 && !this.#ended) {
      this.#refilling ??= this.#refill().finally(() => {
        this.#refilling = undefined;
      });
      await this.#refilling;
    }
    return this.#ready.pop();
  }

  /** The call may have had its effect: the intent stays until an outcome is recorded. */
  keep(begun: Begun): void {
    this.#unsent.delete(begun);
  }

  /** Without the lease they stay: a call that it cut short may be among them. The next run settles them. */
  async withdrawUnsent(): Promise<void> {
    await this.#ahead?.catch(() => {});
    const unsent = [...this.#unsent];
    this.#unsent.clear();
    const { ledger, lease } = this.#run;
    if (unsent.length === 0 || lease.lost.aborted) return;
    await ledger.write(lease, (transaction) => transaction.withdraw(unsent));
    for (const { change } of unsent) this.#run.recent.forget(change.user_group_id);
  }

  async #refill(): Promise<void> {
    const chunk = await (this.#ahead ?? this.#begin());
    // Taken from the end: the order of the plan is kept by turning it once.
    this.#ready = [...chunk].reverse();
    this.#ended = chunk.length === 0;
    this.#ahead = this.#ended ? undefined : this.#begin();
    // Whoever asks for the chunk gets its error.
    this.#ahead?.catch(() => {});
  }

  async #begin(): Promise<readonly Begun[]> {
    const chunk: Change[] = [];
    while (chunk.length < CHUNK) {
      const result = await this.#changes.next();
      if (result.done === true) break;
      chunk.push(result.value);
    }
    if (chunk.length === 0) return [];
    const { ledger, lease, clock } = this.#run;
    const begun = await ledger.write(lease, (transaction) => transaction.begin(chunk, clock.now()));
    for (const entry of begun) {
      this.#unsent.add(entry);
      this.#run.recent.add(entry.change.user_group_id, { change: entry.change, token: null });
    }
    return begun;
  }
}
