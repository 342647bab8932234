/**
 * Who wants a tenant to be looked at, the most urgent first: somebody who waits for the answer, the change column, the channel,
 * or the queue itself, because the tenant is known to fail.
 */
const ORIGINS = ["request", "column", "channel", "retry"] as const;
export type Origin = (typeof ORIGINS)[number];

export interface Waiting {
  readonly origin: Origin;
  /** When somebody first noticed that the tenant may have changed. */
  readonly noticedAt: number;
  readonly dueAt: number;
}

/**
 * The tenants that wait to be served singly: the most urgent first, and those of one origin in the order in which they were
 * noticed. Each waits in it once, by its most urgent origin, however often it is noticed. A tenant that is noticed while it is
 * being served is served once more: the change may be newer than the lookup.
 *
 * Times are milliseconds of one clock that never runs backwards.
 */
export class TenantQueue {
  /** The most tenants that wait, by origin, so that none takes the room of another. */
  readonly #most: Readonly<Record<Origin, number>>;
  readonly #waiting: Readonly<Record<Origin, Map<string, Waiting>>>;
  readonly #served = new Map<string, Waiting>();

  constructor(most: Readonly<Record<Origin, number>>) {
    this.#most = most;
    this.#waiting = { request: new Map(), column: new Map(), channel: new Map(), retry: new Map() };
  }

  /**
   * Returns false if there is no room: then only a full sync sees to this tenant. A tenant that waits already waits on as it did,
   * and is due at the earlier time.
   */
  add(id: string, origin: Origin, noticedAt: number, dueAt = noticedAt): boolean {
    const added = { origin, noticedAt, dueAt };
    const known = this.#waitingFor(id);
    const waiting = known ? joined(known, added) : added;
    if (known?.origin !== waiting.origin) {
      if (this.#waiting[waiting.origin].size >= this.#most[waiting.origin]) {
        if (known) this.#waiting[known.origin].set(id, { ...known, dueAt: waiting.dueAt });
        return known !== undefined;
      }
      if (known) this.#waiting[known.origin].delete(id);
    }
    this.#waiting[waiting.origin].set(id, waiting);
    return true;
  }

  /** Takes tenants that are due, and that nobody serves yet. Call `done` for each of them. */
  take(now: number, most: number): readonly string[] {
    const ids: string[] = [];
    for (const origin of ORIGINS)
      for (const [id, waiting] of this.#waiting[origin]) {
        if (ids.length >= most) return ids;
        if (waiting.dueAt > now || this.#served.has(id)) continue;
        this.#waiting[origin].delete(id);
        this.#served.set(id, waiting);
        ids.push(id);
      }
    return ids;
  }

  /** Returns how the tenant waited; undefined if it was not taken. */
  done(id: string): Waiting | undefined {
    const served = this.#served.get(id);
    this.#served.delete(id);
    return served;
  }

  /** Whether the tenant was noticed, and has not been served since. A tenant that only waits for its next try doesn't count. */
  isNoticed(id: string): boolean {
    const waiting = this.#waitingFor(id);
    return waiting !== undefined && waiting.origin !== "retry";
  }

  /** When `take` can take the next tenant; infinity if none waits. */
  nextDueAt(now: number): number {
    let next = Number.POSITIVE_INFINITY;
    for (const origin of ORIGINS)
      for (const [id, { dueAt }] of this.#waiting[origin]) {
        if (this.#served.has(id)) continue;
        next = Math.min(next, dueAt);
        if (next <= now) return next;
      }
    return next;
  }

  /** How many tenants are known to fail, and wait for their next try. */
  get failing(): number {
    return this.#waiting.retry.size;
  }

  /** When the tenant was noticed that has waited for longest, without those that are known to fail; undefined if none waits. */
  get oldestAt(): number | undefined {
    let oldest: number | undefined;
    for (const tenants of [...Object.values(this.#waiting), this.#served])
      for (const { noticedAt, origin } of tenants.values())
        if (origin !== "retry" && (oldest === undefined || noticedAt < oldest)) oldest = noticedAt;
    return oldest;
  }

  #waitingFor(id: string): Waiting | undefined {
    for (const origin of ORIGINS) {
      const waiting = this.#waiting[origin].get(id);
      if (waiting) return waiting;
    }
    return undefined;
  }
}

function joined(one: Waiting, other: Waiting): Waiting {
  const [urgent, less] =
    ORIGINS.indexOf(one.origin) <= ORIGINS.indexOf(other.origin) ? [one, other] : [other, one];
  const isNews = urgent.origin !== "retry" && less.origin === "retry";
  return {
    origin: urgent.origin,
    noticedAt: isNews ? urgent.noticedAt : Math.min(one.noticedAt, other.noticedAt),
    dueAt: Math.min(one.dueAt, other.dueAt),
  };
}
