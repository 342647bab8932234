interface Waiting {
  /** When somebody first noticed that the tenant may have changed. */
  readonly noticedAt: number;
  readonly dueAt: number;
  /** The tenant is known to fail, and only waits for its next try. */
  readonly isRetry: boolean;
}

/**
 * The tenants that wait to be served singly, in the order in which they were noticed. Each waits in it once, however often it is
 * noticed. A tenant that is noticed while it is being served is served once more: the change may be newer than the look.
 *
 * Times are milliseconds of one clock that never runs backwards.
 */
export class TenantQueue {
  readonly #limit: number;
  readonly #waiting = new Map<string, Waiting>();
  readonly #served = new Map<string, Waiting>();

  /** `limit`: the most tenants that wait. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Returns false if the queue is full: then only a full sync sees to this tenant. */
  add(id: string, noticedAt: number, dueAt = noticedAt): boolean {
    return this.#add(id, { noticedAt, dueAt, isRetry: false });
  }

  /** As `add`, for a tenant that is known to fail. A notice meanwhile counts as a new one. */
  addRetry(id: string, noticedAt: number, dueAt: number): boolean {
    return this.#add(id, { noticedAt, dueAt, isRetry: true });
  }

  #add(id: string, added: Waiting): boolean {
    const known = this.#waiting.get(id);
    if (known === undefined && this.#waiting.size >= this.#limit) return false;
    this.#waiting.set(id, known === undefined ? added : joined(known, added));
    return true;
  }

  /** Takes tenants that are due, and that nobody serves yet. Call `done` for each of them. */
  take(now: number, most: number): readonly string[] {
    const ids: string[] = [];
    for (const [id, waiting] of this.#waiting) {
      if (ids.length >= most) break;
      if (waiting.dueAt > now || this.#served.has(id)) continue;
      this.#waiting.delete(id);
      this.#served.set(id, waiting);
      ids.push(id);
    }
    return ids;
  }

  /** Returns when the tenant was noticed; undefined if it was not taken. */
  done(id: string): number | undefined {
    const served = this.#served.get(id);
    this.#served.delete(id);
    return served?.noticedAt;
  }

  /** Whether the tenant was noticed, and has not been served since. A tenant that only waits for its next try doesn't count. */
  isNoticed(id: string): boolean {
    return this.#waiting.get(id)?.isRetry === false;
  }

  /** When the next tenant is due; infinity if none is. */
  get nextDueAt(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const [id, { dueAt }] of this.#waiting) if (!this.#served.has(id)) next = Math.min(next, dueAt);
    return next;
  }

  /** When the tenant was noticed that has waited for longest, without those that are known to fail; undefined if none waits. */
  get oldestAt(): number | undefined {
    let oldest: number | undefined;
    for (const { noticedAt, isRetry } of [...this.#waiting.values(), ...this.#served.values()])
      if (!isRetry && (oldest === undefined || noticedAt < oldest)) oldest = noticedAt;
    return oldest;
  }
}

function joined(one: Waiting, other: Waiting): Waiting {
  const dueAt = Math.min(one.dueAt, other.dueAt);
  if (one.isRetry !== other.isRetry) return { ...(one.isRetry ? other : one), dueAt };
  return { ...one, noticedAt: Math.min(one.noticedAt, other.noticedAt), dueAt };
}
