import { SyncError } from "../core/errors.ts";
import { interrupted } from "../core/interrupted.ts";
import type { Clock } from "../ports/clock.ts";
import type { Lease, LeaseHolder, Ledger } from "../ports/ledger.ts";
import { ageOf, type Instant, instantOf } from "./instant.ts";

export interface LeaseSettings {
  /** Names this process for operators and for `isDead`. */
  readonly holder: string;
  readonly ttlMs: number;
  /** The longest that one call to the service can take: none starts with less left of the lease. */
  readonly callMs: number;
  /** Whether a holder is known for certain to be gone. False where that can't be told. */
  readonly isDead: (holder: string) => Promise<boolean>;
}

/** Proof that this process is the only one at work. */
export interface HeldLease extends Lease {
  /** Aborts, with a LEASE_LOST error as its reason, once the lease can't be counted on any more. */
  readonly lost: AbortSignal;
  /** Throws LEASE_LOST: to be asked right before every call that changes the service. */
  assertHeld(): void;
  /**
   * Has this process wait for the task, even where the lease is lost: what it writes to the ledger is refused then,
   * if another instance has taken over.
   */
  awaitAlways<T>(task: Promise<T>): Promise<T>;
}

/**
 * Runs `body` while holding the lease, and gives it back afterwards. A lease whose holder stopped renewing
 * it is waited out; one that is being renewed ends this with LEASE_HELD.
 */
export async function withLease<T>(
  ledger: Ledger,
  clock: Clock,
  settings: LeaseSettings,
  signal: AbortSignal,
  body: (lease: HeldLease) => Promise<T>,
): Promise<T> {
  const { lease, validFrom } = await acquire(ledger, clock, settings, signal);
  const heartbeat = new Heartbeat(ledger, clock, lease, settings, validFrom);
  try {
    return await Promise.race([body(heartbeat), rejectionOf(heartbeat.lost)]);
  } finally {
    await heartbeat.allTasks();
    await heartbeat.stop();
    // Where this fails the lease expires by itself.
    if (!heartbeat.lost.aborted) await ledger.releaseLease(lease).catch(() => {});
  }
}

interface Granted {
  readonly lease: Lease;
  readonly validFrom: Instant;
}

async function acquire(
  ledger: Ledger,
  clock: Clock,
  { holder, ttlMs, isDead }: LeaseSettings,
  signal: AbortSignal,
): Promise<Granted> {
  let watched: LeaseHolder | undefined;
  for (;;) {
    // Before the request: the lease may have been granted at any time since.
    const validFrom = instantOf(clock);
    const attempt = await ledger.acquireLease(holder, ttlMs);
    if (attempt.kind === "acquired") return { lease: attempt.lease, validFrom };
    const { by } = attempt;
    if (await isDead(by.holder)) {
      const seized = await ledger.seizeLease(by, holder, ttlMs);
      if (seized) return { lease: seized, validFrom };
    }
    const renewed = watched?.epoch === by.epoch && watched.expiresAt < by.expiresAt;
    if (signal.aborted) throw interrupted();
    if (renewed) {
      throw new SyncError(
        "LEASE_HELD",
        `another instance is at work: ${by.holder}, since ${by.acquiredAt.toISOString()}`,
        { hint: "it ends by itself; `groupsync status` shows how long it has been running" },
      );
    }
    if (watched?.epoch !== by.epoch) watched = by;
    await clock.sleep(ttlMs / 6, signal);
  }
}

/** Renews the lease several times within its validity, and knows when it is no longer good. */
class Heartbeat implements HeldLease {
  readonly epoch: string;
  readonly #ledger: Ledger;
  readonly #clock: Clock;
  readonly #ttlMs: number;
  readonly #callMs: number;
  readonly #lost = new AbortController();
  readonly #stopped = new AbortController();
  readonly #beating: Promise<void>;
  readonly #tasks = new Set<Promise<unknown>>();
  #validFrom: Instant;

  constructor(ledger: Ledger, clock: Clock, lease: Lease, settings: LeaseSettings, validFrom: Instant) {
    this.#ledger = ledger;
    this.#clock = clock;
    this.epoch = lease.epoch;
    this.#ttlMs = settings.ttlMs;
    this.#callMs = settings.callMs;
    this.#validFrom = validFrom;
    this.#beating = this.#beat();
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  assertHeld(): void {
    if (ageOf(this.#validFrom, this.#clock) + this.#callMs >= this.#ttlMs)
      this.#lose("it was not renewed in time");
    if (this.#lost.signal.aborted) throw this.#lost.signal.reason;
  }

  awaitAlways<T>(task: Promise<T>): Promise<T> {
    this.#tasks.add(task);
    const forget = (): boolean => this.#tasks.delete(task);
    task.then(forget, forget);
    return task;
  }

  async allTasks(): Promise<void> {
    while (this.#tasks.size > 0) await Promise.allSettled(this.#tasks);
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#beating;
  }

  async #beat(): Promise<void> {
    while (!this.#stopped.signal.aborted && !this.#lost.signal.aborted) {
      await this.#clock.sleep(this.#ttlMs / 6, this.#stopped.signal);
      if (this.#stopped.signal.aborted) return;
      const asked = instantOf(this.#clock);
      try {
        if (await this.#ledger.renewLease(this, this.#ttlMs)) this.#validFrom = asked;
        else this.#lose("another instance has taken it");
      } catch {
        // The ledger may be back before the lease runs out.
        if (ageOf(this.#validFrom, this.#clock) >= this.#ttlMs)
          this.#lose("the ledger could not be reached to renew it");
      }
    }
  }

  #lose(why: string): void {
    this.#lost.abort(
      new SyncError("LEASE_LOST", `the lease was lost: ${why}`, {
        hint: "nothing more was changed; the next sync settles what was under way",
      }),
    );
  }
}

const rejectionOf = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
