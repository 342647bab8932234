import type { Failure } from "../../core/failure/sync-error.ts";

/** Why a tenant that was looked at is not served. */
export interface Unserved extends Failure {
  /** If the full sync replaces the group, the tenant is served all the same: the fingerprint that the group then has. */
  readonly wanted?: string;
}

/** The intents of planned changes. */
interface PlannedIntents {
  withdraw(ids: ReadonlySet<string>): Promise<void>;
}

/** The right to work on some tenants, which nobody else has until it ends. Its methods are idempotent. */
export interface Turn {
  end(): void;
  /** Ends it for one tenant before it ends for the others. */
  endOf(id: string): void;
}

/** Runs `work` in the turn of these tenants. */
export async function inTurn<T>(turns: Turns, ids: readonly string[], work: () => Promise<T>): Promise<T> {
  const turn = await turns.take(ids);
  try {
    return await work();
  } finally {
    turn.end();
  }
}

/** What a step needs of `TenantTurns`. */
export interface Turns {
  /** Waits until nobody else works on these tenants. Whoever has a turn must not ask for another one. */
  take(ids: readonly string[]): Promise<Turn>;
  /** Call this before the source is read for a plan: the plan is newer than all looks that have ended until now. */
  beginPlan(): void;
  /** Call this once the plan is made: it is older than all looks from now on. */
  planIsMade(): void;
  /** Runs `work`, which makes planned changes. */
  whileMaking<T>(planned: PlannedIntents, work: () => Promise<T>): Promise<T>;
  /** Whether a look at the tenant has ended since the plan began, or goes on: what is planned for the tenant is dropped. */
  wasLookedAt(id: string): boolean;
  /** The tenants of which `wasLookedAt` is true. */
  readonly lookedAt: readonly string[];
  /** The tenants of `lookedAt` that the last look has left unserved. What was planned for them is dropped. */
  readonly unserved: ReadonlyMap<string, Unserved>;
}

/** For work on tenants whose turn is taken already. */
export const TURN_IS_TAKEN: Turns = {
  take: async () => ({ end: () => {}, endOf: () => {} }),
  beginPlan: () => {},
  planIsMade: () => {},
  whileMaking: (_, work) => work(),
  wasLookedAt: () => false,
  lookedAt: [],
  unserved: new Map(),
};

/**
 * Lets a full sync and the service of single tenants work side by side: never two calls for one tenant at a time, and
 * never an older decision after a newer one.
 *
 * All work on a tenant is done in its turn. A look at a single tenant drops what the full sync has planned for
 * it, because the plan comes from an older snapshot.
 */
export class TenantTurns implements Turns {
  readonly #taken = new Map<string, Taken>();
  readonly #looked = new Set<string>();
  /** The tenants that somebody has looked at in a turn that goes on. */
  readonly #looking = new Set<string>();
  readonly #unserved = new Map<string, Unserved>();
  #planned: PlannedIntents | undefined;
  #lookAgain: (ids: readonly string[]) => void = () => {};

  async take(ids: readonly string[]): Promise<Turn> {
    for (;;) {
      const others = ids.flatMap((id) => this.#taken.get(id)?.ended ?? []);
      if (others.length === 0) break;
      await Promise.all(others);
    }
    return this.#takeNow(ids);
  }

  /** Takes the turn of those tenants on whom nobody works now. Returns the others too. */
  takeFree(ids: readonly string[]): {
    readonly turn: Turn;
    readonly free: readonly string[];
    readonly busy: readonly string[];
  } {
    const free = ids.filter((id) => !this.#taken.has(id));
    const busy = ids.filter((id) => this.#taken.has(id));
    return { turn: this.#takeNow(free), free, busy };
  }

  #takeNow(ids: readonly string[]): Turn {
    const mine = new Map(ids.map((id) => [id, aTaken()]));
    for (const [id, taken] of mine) this.#taken.set(id, taken);
    const endOf = (id: string): void => {
      const taken = mine.get(id);
      if (taken === undefined) return;
      if (this.#taken.get(id) !== taken) return;
      this.#taken.delete(id);
      this.#looking.delete(id);
      taken.end();
    };
    return {
      endOf,
      end: () => {
        for (const id of mine.keys()) endOf(id);
      },
    };
  }

  beginPlan(): void {
    this.#looked.clear();
    this.#unserved.clear();
    for (const id of this.#looking) this.#looked.add(id);
  }

  planIsMade(): void {
    this.#lookAgain([...this.#looked]);
  }

  /**
   * Calls `lookAgain` with the tenants that were looked at while the source was being read for a plan. The look may have seen
   * an older row than the plan, which is dropped for these tenants all the same.
   */
  onceMore(lookAgain: (ids: readonly string[]) => void): void {
    this.#lookAgain = lookAgain;
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
   * Drops what a full sync has planned for these tenants. Call this in their turn, before the look. Rejects if an intent
   * can't be withdrawn.
   */
  async looksAt(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      this.#looked.add(id);
      this.#looking.add(id);
      this.#unserved.delete(id);
    }
    await this.#planned?.withdraw(new Set(ids));
  }

  /** The look at these tenants leaves them unserved. */
  leavesUnserved(ids: Iterable<string>, why: Unserved): void {
    for (const id of ids) this.#unserved.set(id, why);
  }

  get lookedAt(): readonly string[] {
    return [...this.#looked];
  }

  get unserved(): ReadonlyMap<string, Unserved> {
    return this.#unserved;
  }

  wasLookedAt(id: string): boolean {
    return this.#looked.has(id);
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
