import type { Failure } from "../../core/failure/sync-error.ts";

/** Why a tenant that was looked up is not served. */
interface Unserved extends Failure {
  /** If the full sync replaces the group, the tenant is served all the same: the fingerprint that the group then has. */
  readonly desired?: string;
}

/** The right to work on some groups, which nobody else has until it ends. Its methods are idempotent. */
export interface Hold {
  release(): void;
  /** Ends it for one group before it ends for the others. */
  releaseOne(id: string): void;
  readonly decision: HeldDecision;
}

/** What was decided about groups that are held. It is outdated once somebody looks one of their tenants up. */
export interface HeldDecision {
  isOutdated: boolean;
  onOutdated?: (() => void) | undefined;
}

/** Runs `work` while nobody else works on these groups. */
export async function holding<T>(keys: KeyTable, ids: readonly string[], work: () => Promise<T>): Promise<T> {
  const hold = await keys.hold(ids);
  try {
    return await work();
  } finally {
    hold.release();
  }
}

export interface KeyTable {
  /** Waits until nobody else works on these groups. Whoever holds one must not ask for another. */
  hold(ids: readonly string[]): Promise<Hold>;
  /** Call this before the source is read for a plan: the plan is newer than all lookups that have ended until now. */
  beginPlan(): void;
  /** Call this once the plan is made: it is older than all lookups from now on. */
  planIsMade(): void;
  /** Whether a lookup of the tenant has ended since the plan began, or goes on: what is planned for the tenant is dropped. */
  wasLookedUp(id: string): boolean;
  /** The tenants of which `wasLookedUp` is true. */
  readonly lookedUp: readonly string[];
  /** The tenants of `lookedUp` that the last lookup has left unserved. What was planned for them is dropped. */
  readonly unserved: ReadonlyMap<string, Unserved>;
}

/** For work on groups that are held already. */
export const HELD_ALREADY: KeyTable = {
  hold: async () => ({ release: () => {}, releaseOne: () => {}, decision: { isOutdated: false } }),
  beginPlan: () => {},
  planIsMade: () => {},
  wasLookedUp: () => false,
  lookedUp: [],
  unserved: new Map(),
};

/**
 * Who works on which group. A full sync and lookups of single tenants go on side by side, but never with two calls for one group
 * at a time, and never with an older decision after a newer one: a lookup makes outdated what the full sync has planned for its
 * tenant, because the plan comes from an older snapshot.
 */
export class Keys implements KeyTable {
  /** By group, when the last one who has asked for it releases it. */
  readonly #ends = new Map<string, Promise<void>>();
  /** By group, the decision of who holds it. */
  readonly #decisions = new Map<string, HeldDecision>();
  readonly #lookedUp = new Set<string>();
  /** The tenants that somebody looks up, or has looked up and not served yet. */
  readonly #beingLookedUp = new Set<string>();
  readonly #unserved = new Map<string, Unserved>();
  #lookUpAgain: (ids: readonly string[]) => void = () => {};

  /** Holds those groups that nobody has asked for. Returns the ids of the others, too. */
  holdFree(ids: readonly string[]): {
    readonly free: readonly string[];
    readonly busy: readonly string[];
    readonly hold: Promise<Hold>;
  } {
    const free = ids.filter((id) => !this.#ends.has(id));
    return { free, busy: ids.filter((id) => this.#ends.has(id)), hold: this.hold(free) };
  }

  /** In the order in which they were asked for. */
  async hold(ids: readonly string[]): Promise<Hold> {
    const before = ids.map((id) => this.#ends.get(id));
    const releases = new Map(ids.map((id) => [id, this.#queue(id)]));
    await Promise.all(before);
    const decision: HeldDecision = { isOutdated: false };
    for (const id of ids) this.#decisions.set(id, decision);
    const releaseOne = (id: string): void => {
      if (this.#decisions.get(id) === decision) this.#decisions.delete(id);
      releases.get(id)?.();
    };
    return { releaseOne, release: () => ids.forEach(releaseOne), decision };
  }

  /** Asks for the group. Returns the function that releases it. */
  #queue(id: string): () => void {
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#ends.set(id, ended);
    return () => {
      if (this.#ends.get(id) === ended) this.#ends.delete(id);
      end();
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
   * Calls `lookUpAgain` with the tenants that were looked up while the source was being read for the plan. A lookup may have seen
   * an older row than the plan, and makes the plan outdated all the same.
   */
  whenPlanIsMade(lookUpAgain: (ids: readonly string[]) => void): void {
    this.#lookUpAgain = lookUpAgain;
  }

  /** A lookup of these tenants begins. Call this before their groups are held for it, and `served` for each tenant in the end. */
  looksUp(ids: readonly string[]): void {
    for (const id of ids) {
      this.#lookedUp.add(id);
      this.#beingLookedUp.add(id);
      this.#unserved.delete(id);
      const decision = this.#decisions.get(id);
      if (!decision) continue;
      decision.isOutdated = true;
      decision.onOutdated?.();
    }
  }

  /** The tenant that was looked up is served, or left as it is. */
  served(id: string): void {
    this.#beingLookedUp.delete(id);
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
