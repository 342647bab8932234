import type { LedgerGroup } from "../../core/group/ledger-group.ts";
import { compareIds, type Tenant } from "../../core/group/tenant.ts";

/**
 * Reads the source and the ledger side by side. Both are ordered by the bytes of the id. Calls `visit` once for each id, with
 * the tenant, the group, or both. Each row without an id gets a call of its own.
 */
export async function mergeById(
  tenants: AsyncIterable<readonly Tenant[]>,
  groups: AsyncIterable<readonly LedgerGroup[]>,
  visit: (tenant: Tenant | undefined, group: LedgerGroup | undefined) => void,
): Promise<void> {
  const left = new BatchReader(readAhead(tenants));
  const right = new BatchReader(readAhead(groups));
  try {
    for (;;) {
      // Ask for both at once, because they are in two databases or in two sessions.
      if (isUsedUp(left) || isUsedUp(right)) await Promise.all([left.fill(), right.fill()]);
      const tenant = left.current;
      const group = right.current;
      if (tenant === undefined && group === undefined) return;

      const order = compareHeads(tenant, group);
      visit(order <= 0 ? tenant : undefined, order >= 0 ? group : undefined);
      if (order <= 0) left.advance();
      if (order >= 0) right.advance();
    }
  } finally {
    await Promise.allSettled([left.close(), right.close()]);
  }
}

const isUsedUp = ({ current, ended }: BatchReader<unknown>): boolean => current === undefined && !ended;

function compareHeads(tenant: Tenant | undefined, group: LedgerGroup | undefined): number {
  if (tenant === undefined) return 1;
  if (group === undefined || tenant.user_group_id === null) return -1;
  return compareIds(tenant.user_group_id, group.user_group_id);
}

/**
 * Steps through batches one item at a time. Waits only between batches, because awaiting each of a million items would take
 * longer than the work on them.
 */
class BatchReader<T> {
  readonly #batches: AsyncIterator<readonly T[]>;
  #batch: readonly T[] = [];
  #next = 0;
  #ended = false;

  constructor(batches: AsyncIterable<readonly T[]>) {
    this.#batches = batches[Symbol.asyncIterator]();
  }

  /** The current item. Undefined if `fill` has to be called first, and at the end. */
  get current(): T | undefined {
    return this.#batch[this.#next];
  }

  get ended(): boolean {
    return this.#ended;
  }

  advance(): void {
    this.#next++;
  }

  /** Fetches batches until there is a current item or the end is reached. */
  async fill(): Promise<void> {
    while (this.#next >= this.#batch.length && !this.#ended) {
      const result = await this.#batches.next();
      this.#ended = result.done === true;
      this.#batch = result.done === true ? [] : result.value;
      this.#next = 0;
    }
  }

  /** Lets the producer clean up, even if not everything was read. */
  async close(): Promise<void> {
    await this.#batches.return?.();
  }
}

/** Fetches the next batch while the consumer works on the one before. */
export async function* readAhead<T>(batches: AsyncIterable<T>): AsyncGenerator<T> {
  const iterator = batches[Symbol.asyncIterator]();
  let pending = iterator.next();
  try {
    for (;;) {
      const result = await pending;
      if (result.done === true) return;
      pending = iterator.next();
      // If the consumer never asks for this batch, its error must not count as an unhandled rejection.
      pending.catch(() => {});
      yield result.value;
    }
  } finally {
    await pending.catch(() => {});
    await iterator.return?.();
  }
}
