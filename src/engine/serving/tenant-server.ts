import { asSyncError, isInterruption } from "../../core/failure/sync-error.ts";
import { type Origin, TenantQueue, type Waiting } from "../../core/serving/tenant-queue.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Served } from "../../ports/serve-tenant.ts";
import { WakeableSleep } from "./wakeable-sleep.ts";

export interface ServingEvents {
  /** Called for each tenant as soon as its end is known. */
  readonly served: (id: string, what: ServedTenant) => void;
  /** Called once the rows have been looked up: the rest is waiting for the service. */
  readonly lookedUp: () => void;
}

export interface OpenService {
  serve(ids: readonly string[], on: ServingEvents): Promise<void>;
  /** False if one lookup of a tenant reads the whole source. */
  readonly isIndexed: boolean;
}

/** What became of a tenant, and when it is to be looked up again: a failure is tried again. */
export interface ServedTenant {
  readonly served: Served;
  readonly retryAt?: Date;
}

interface ServerPorts {
  readonly clock: Clock;
  /** Called for each tenant that was served, `ms` after it was noticed. */
  readonly onServed: (user_group_id: string, served: Served, ms: number) => void;
  /** More tenants were noticed than can wait: a full sync has to look. */
  readonly onOverflow: () => void;
}

/** The most tenants that wait because one of these asks for them. One full sync costs less than more lookups. */
const MOST_WAITING = { request: 10_000, column: 10_000, channel: 5_000, retry: 10_000 } as const;
const MOST_IN_A_BATCH = 100;
/** Lookups go through one connection. While they wait for it, the tenants that are noticed make up one larger batch. */
const MOST_LOOKUPS = 4;
/**
 * While one batch waits for a failing group, or for the service's limit, others go on: only a lookup shows whether a tenant is new,
 * and so is called for before thousands of updates. Enough for a full queue, and as many again.
 */
const MOST_BATCHES = 500;
/** How long to wait before a tenant is looked up again whose lookup or call has failed, in milliseconds. */
const LEAST_RETRY = 5_000;
/** Without an index, lookups take no more than this part of the time. */
const SHARE_OF_SLOW_LOOKUPS = 1 / 10;

/**
 * Serves single tenants between two full syncs and beside one: those that were noticed, that somebody asked for, or whose
 * change has failed. It outlives the runs in which it works.
 */
export class TenantServer {
  readonly #ports: ServerPorts;
  readonly #queue = new TenantQueue(MOST_WAITING);
  /** Who waits for the end of a tenant. */
  readonly #asking = new Map<string, Set<(served: Served) => void>>();
  readonly #sleep: WakeableSleep;

  constructor(ports: ServerPorts) {
    this.#ports = ports;
    this.#sleep = new WakeableSleep(ports.clock);
  }

  /** The tenant may have changed. */
  notice(id: string, by: "column" | "channel" = "column"): void {
    this.#add(id, by);
  }

  /** A lookup of the tenant may have come too early for what a full sync has planned. Who asked for the tenant has no need of it. */
  lookUpAgain(id: string): void {
    if (!this.#add(id, "retry")) this.#ports.onOverflow();
  }

  /** Somebody asks for the tenant, and doesn't wait for its end. Returns false if it is left to the next full sync. */
  request(id: string): boolean {
    return this.#add(id, "request");
  }

  /** Serves the tenant as soon as possible. Resolves to `pending` after `waitMs`, or once `signal` aborts. */
  async serve(id: string, waitMs: number, signal: AbortSignal): Promise<Served> {
    if (!this.request(id)) return TOO_MANY;
    if (waitMs <= 0) return { kind: "pending" };
    const asking = this.#asking.get(id) ?? new Set();
    this.#asking.set(id, asking);
    // Not AbortSignal.any: it would leave something with `signal` for as long as that lives.
    const over = new AbortController();
    const end = (): void => over.abort();
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
    let served: Served = { kind: "pending" };
    const answer = (what: Served): void => {
      served = what;
      end();
    };
    asking.add(answer);
    await this.#ports.clock.sleep(waitMs, over.signal);
    signal.removeEventListener("abort", end);
    asking.delete(answer);
    if (asking.size === 0) this.#asking.delete(id);
    return served;
  }

  /**
   * For how long the noticed tenant has waited that has waited for longest, in milliseconds; 0 if none waits. Tenants whose
   * change fails don't count: the ledger tells of them.
   */
  get oldestMs(): number {
    const now = this.#ports.clock.monotonic();
    return now - (this.#queue.oldestAt ?? now);
  }

  /** How many tenants wait for another try, because the last one failed. */
  get failing(): number {
    return this.#queue.failing;
  }

  /**
   * Serves in this run until `until` aborts. A source that is away may come back by itself. Rejects after any other failure:
   * the tenants wait for the next run.
   */
  async serveIn(run: OpenService, until: AbortSignal): Promise<void> {
    const { clock } = this.#ports;
    const batches = new Set<Promise<void>>();
    let lookups = 0;
    let failure: { readonly error: unknown } | undefined;
    let nextLookupAt = 0;
    while (!until.aborted && failure === undefined) {
      const now = clock.monotonic();
      const isFree = lookups < MOST_LOOKUPS && batches.size < MOST_BATCHES;
      const ids = isFree && now >= nextLookupAt ? this.#queue.take(now, MOST_IN_A_BATCH) : [];
      if (ids.length === 0) {
        const due = Math.max(this.#queue.nextDueAt(now), nextLookupAt);
        await this.#sleep.sleep(isFree && Number.isFinite(due) ? due - now : LONGEST_SLEEP, until);
        continue;
      }
      lookups++;
      let hasLookedUp = false;
      const lookedUp = (): void => {
        if (hasLookedUp) return;
        hasLookedUp = true;
        lookups--;
        this.#sleep.wake();
      };
      const batch = this.#serveBatch(ids, run, lookedUp)
        .catch((error: unknown) => {
          failure ??= { error };
        })
        .finally(() => {
          batches.delete(batch);
          lookedUp();
          if (!run.isIndexed) {
            const end = clock.monotonic();
            nextLookupAt = end + (end - now) * (1 / SHARE_OF_SLOW_LOOKUPS - 1);
          }
          this.#sleep.wake();
        });
      batches.add(batch);
    }
    await Promise.all(batches);
    if (failure) throw failure.error;
  }

  async #serveBatch(ids: readonly string[], run: OpenService, lookedUp: () => void): Promise<void> {
    const left = new Set(ids);
    const served = (id: string, what: ServedTenant): void => {
      if (left.delete(id)) this.#end(id, what);
    };
    try {
      await run.serve(ids, { served, lookedUp });
    } catch (error) {
      const { code, message } = asSyncError(error);
      if (!isInterruption({ code })) {
        for (const id of left) this.#unseen(id, { kind: "failed", code, message });
        left.clear();
        if (!mayPass(error)) throw error;
      }
    }
    // The run is ending, so another one serves the others.
    for (const id of left) this.#end(id, { served: { kind: "pending" } });
  }

  #end(id: string, { served, retryAt }: ServedTenant): void {
    const { clock, onServed } = this.#ports;
    const now = clock.monotonic();
    const waited = this.#queue.done(id) ?? noticedNow(now);
    const retryMs = retryAt ? Math.max(LEAST_RETRY, retryAt.getTime() - clock.now().getTime()) : LEAST_RETRY;
    if (served.kind === "pending") this.#add(id, waited.origin, waited.noticedAt, now);
    else if (served.kind === "failed" || retryAt) this.#add(id, "retry", waited.noticedAt, now + retryMs);
    if (served.kind === "pending") return;
    onServed(id, served, now - waited.noticedAt);
    this.#answer(id, served);
  }

  /** The lookup has failed, so nobody else knows that the tenant waits. */
  #unseen(id: string, served: Served): void {
    const now = this.#ports.clock.monotonic();
    const waited = this.#queue.done(id) ?? noticedNow(now);
    this.#add(id, waited.origin, waited.noticedAt, now + LEAST_RETRY);
    this.#ports.onServed(id, served, now - waited.noticedAt);
    this.#answer(id, served);
  }

  #answer(id: string, served: Served): void {
    // Whoever asked while the tenant was being served gets the end of the next lookup: this lookup may have come before the row.
    if (this.#queue.isNoticed(id) && served.kind !== "failed") return;
    for (const answer of this.#asking.get(id) ?? []) answer(served);
  }

  /** Returns false if too many wait: then a full sync has to look. The ledger knows of those that fail. */
  #add(id: string, origin: Origin, noticedAt = this.#ports.clock.monotonic(), dueAt = noticedAt): boolean {
    const isAdded = this.#queue.add(id, origin, noticedAt, dueAt);
    if (isAdded) this.#sleep.wake();
    else if (origin !== "retry") this.#ports.onOverflow();
    return isAdded;
  }
}

const noticedNow = (now: number): Waiting => ({ origin: "column", noticedAt: now, dueAt: now });

/** Whether a lookup that has failed so is tried again in the same run: a source that is away may come back by itself. */
export const mayPass = (error: unknown): boolean => asSyncError(error).code === "SOURCE_UNAVAILABLE";

const LONGEST_SLEEP = 60_000;

const TOO_MANY: Served = {
  kind: "failed",
  code: "TOO_MANY_TENANTS",
  message: `more than ${MOST_WAITING.request} tenants wait to be served; a full sync sees to this one`,
};
