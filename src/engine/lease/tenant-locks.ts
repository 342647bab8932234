import type { Failure } from "../../core/failure/sync-error.ts";

/** Why a tenant that was looked up is not served. */
export interface Unserved extends Failure {
  /** If the full sync replaces the group, the tenant is served all the same: the fingerprint that the group then has. */
  readonly desired?: string;
}

/** The intents of planned changes. */
interface PlannedIntents {
  withdraw(ids: ReadonlySet<string>): Promise<void>;
}

/** The right to work on some tenants, which nobody else has until it ends. Its methods are idempotent. */
export interface Lock {
  release(): void;
  /** Ends it for one tenant before it ends for the others. */
  releaseOne(id: string): void;
}

/** Runs `work` under the lock of these tenants. */
export async function withLock<T>(locks: Locks, ids: readonly string[], work: () => Promise<T>): Promise<T> {
  const lock = await locks.acquire(ids);
  try {
    return await work();
  } finally {
    lock.release();
  }
}

/** What a step needs of `TenantLocks`. */
export interface Locks {
  /** Waits until nobody else works on these tenants. Whoever has a lock must not ask for another one. */
  acquire(ids: readonly string[]): Promise<Lock>;
  /** Call this before the source is read for a plan: the plan is newer than all lookups that have ended until now. */
  beginPlan(): void;
  /** Call this once the plan is made: it is older than all lookups from now on. */
  planIsMade(): void;
  /** Runs `work`, which makes planned changes. */
  whileMaking<T>(planned: PlannedIntents, work: () => Promise<T>): Promise<T>;
  /** Whether a lookup of the tenant has ended since the plan began, or goes on: what is planned for the tenant is dropped. */
  wasLookedUp(id: string): boolean;
  /** The tenants of which `wasLookedUp` is true. */
  readonly lookedUp: readonly string[];
  /** The tenants of `lookedUp` that the last lookup has left unserved. What was planned for them is dropped. */
  readonly unserved: ReadonlyMap<string, Unserved>;
}

/** For work on tenants that is under its lock already. */
export const ALREADY_LOCKED: Locks = {
  acquire: async () => ({ release: () => {}, releaseOne: () => {} }),
  beginPlan: () => {},
  planIsMade: () => {},
  whileMaking: (_, work) => work(),
  wasLookedUp: () => false,
  lookedUp: [],
  unserved: new Map(),
};

/**
 * Lets a full sync and the service of single tenants work side by side: never two calls for one tenant at a time, and
 * never an older decision after a newer one.
 *
 * All work on a tenant is done under its lock. A lookup of a single tenant drops what the full sync has planned for
 * it, because the plan comes from an older snapshot.
 */
export class TenantLocks implements Locks {
  readonly #taken = new Map<string, Taken>();
  readonly #lookedUp = new Set<string>();
  /** The tenants that somebody has looked up under a lock that is still held. */
  readonly #beingLookedUp = new Set<string>();
  readonly #unserved = new Map<string, Unserved>();
  #planned: PlannedIntents | undefined;
  #lookUpAgain: (ids: readonly string[]) => void = () => {};

  async acquire(ids: readonly string[]): Promise<Lock> {
    for (;;) {
      const others = ids.flatMap((id) => this.#taken.get(id)?.ended ?? []);
      if (others.length === 0) break;
      await Promise.all(others);
    }
    return this.#acquireNow(ids);
  }

  /** Takes the lock of those tenants on whom nobody works now. Returns the others too. */
  acquireFree(ids: readonly string[]): {
    readonly lock: Lock;
    readonly free: readonly string[];
    readonly busy: readonly string[];
  } {
    const free = ids.filter((id) => !this.#taken.has(id));
    const busy = ids.filter((id) => this.#taken.has(id));
    return { lock: this.#acquireNow(free), free, busy };
  }

  #acquireNow(ids: readonly string[]): Lock {
    const mine = new Map(ids.map((id) => [id, aTaken()]));
    for (const [id, taken] of mine) this.#taken.set(id, taken);
    const releaseOne = (id: string): void => {
      const taken = mine.get(id);
      if (taken === undefined) return;
      if (this.#taken.get(id) !== taken) return;
      this.#taken.delete(id);
      this.#beingLookedUp.delete(id);
      taken.end();
    };
    return {
      releaseOne,
      release: () => {
        for (const id of mine.keys()) releaseOne(id);
      },
    };
  }

  beginPlan(): void {
    this.#lookedUp.clear();
    this.#unserved.clear();
    for (const id of this.#beingLookedUp) this.#lookedUp.add(id);
  }

  planIsMade(): void {
    this.#lookUpAgain([...this.#lookedUp]);
  }

  /**
   * Calls `lookUpAgain` with the tenants that were looked up while the source was being read for a plan. The lookup may have seen
   * an older row than the plan, which is dropped for these tenants all the same.
   */
  onceMore(lookUpAgain: (ids: readonly string[]) => void): void {
    this.#lookUpAgain = lookUpAgain;
  }

  async whileMaking<T>(planned: PlannedIntents, work: () => Promise<T>): Promise<T> {
    this.#planned = planned;
    try {
      return await work();
    } finally {
      this.#planned = undefined;
    }
  }

  /**
   * Drops what a full sync has planned for these tenants. Call this under their locks, before the lookup. Rejects if an intent
   * can't be withdrawn.
   */
  async looksUp(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      this.#lookedUp.add(id);
      this.#beingLookedUp.add(id);
      this.#unserved.delete(id);
    }
    await this.#planned?.withdraw(new Set(ids));
  }

  /** The lookup of these tenants leaves them unserved. */
  leavesUnserved(ids: Iterable<string>, why: Unserved): void {
    for (const id of ids) this.#unserved.set(id, why);
  }

  get lookedUp(): readonly string[] {
    return [...this.#lookedUp];
  }

  get unserved(): ReadonlyMap<string, Unserved> {
    return this.#unserved;
  }

  wasLookedUp(id: string): boolean {
    return this.#lookedUp.has(id);
  }
}

interface Taken {
  readonly ended: Promise<void>;
  readonly end: () => void;
}

function aTaken(): Taken {
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { ended, end };
}
