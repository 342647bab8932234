import { SyncError } from "../core/errors.ts";
import type { Lease } from "../ports/lease.ts";
import { ageOf, type Instant, instantOf } from "./instant.ts";
import {
  acquireLease,
  type GrantedLease,
  HEARTBEAT,
  type LeasePorts,
  type LeaseSettings,
} from "./lease-acquisition.ts";

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
  /**
   * Resolves once no call of a former holder that never gave the lease back can be under way any more, or the signal
   * aborts: what became of such a call is not to be asked before.
   */
  formerCallsEnded(signal: AbortSignal): Promise<void>;
}

/** Runs `body` while holding the lease, and gives it back afterwards. Rejects as `acquireLease` does, and with LEASE_LOST. */
export async function withLease<T>(
  ports: LeasePorts,
  settings: LeaseSettings,
  signal: AbortSignal,
  body: (lease: HeldLease) => Promise<T>,
): Promise<T> {
  const granted = await acquireLease(ports, settings, signal);
  const heartbeat = new Heartbeat(ports, granted, settings);
  try {
    return await Promise.race([body(heartbeat), rejectionOf(heartbeat.lost)]);
  } finally {
    await heartbeat.allTasks();
    await heartbeat.stop();
    // Where this fails the lease expires by itself.
    if (!heartbeat.lost.aborted) await ports.ledger.releaseLease(granted.lease).catch(() => {});
  }
}

/** Renews the lease several times within its validity, and knows when it is no longer good. */
class Heartbeat implements HeldLease {
  readonly epoch: string;
  readonly #ports: LeasePorts;
  readonly #ttlMs: number;
  readonly #callMs: number;
  readonly #lost = new AbortController();
  readonly #stopped = new AbortController();
  readonly #beating: Promise<void>;
  readonly #tasks = new Set<Promise<unknown>>();
  /** On the monotonic clock. */
  readonly #formerCallsEnd: number;
  #validFrom: Instant;
  #toldOfFormerCalls = false;

  constructor(
    ports: LeasePorts,
    { lease, validFrom, formerCallsMs }: GrantedLease,
    { ttlMs, callMs }: LeaseSettings,
  ) {
    this.#ports = ports;
    this.epoch = lease.epoch;
    this.#ttlMs = ttlMs;
    this.#callMs = callMs;
    this.#validFrom = validFrom;
    this.#formerCallsEnd = validFrom.monotonic + formerCallsMs;
    this.#beating = this.#beat();
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  assertHeld(): void {
    if (ageOf(this.#validFrom, this.#ports.clock) + this.#callMs >= this.#ttlMs)
      this.#lose("it was not renewed in time");
    if (this.#lost.signal.aborted) throw this.#lost.signal.reason;
  }

  awaitAlways<T>(task: Promise<T>): Promise<T> {
    this.#tasks.add(task);
    const forget = (): boolean => this.#tasks.delete(task);
    task.then(forget, forget);
    return task;
  }

  async formerCallsEnded(signal: AbortSignal): Promise<void> {
    const { clock, observe } = this.#ports;
    const ms = this.#formerCallsEnd - clock.monotonic();
    if (ms <= 0) return;
    if (!this.#toldOfFormerCalls)
      observe({
        kind: "waiting",
        ms,
        reason: "a run that was cut short may have sent calls that the service is still at",
      });
    this.#toldOfFormerCalls = true;
    await clock.sleep(ms, signal);
  }

  async allTasks(): Promise<void> {
    while (this.#tasks.size > 0) await Promise.allSettled(this.#tasks);
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#beating;
  }

  async #beat(): Promise<void> {
    const { ledger, clock } = this.#ports;
    while (!this.#stopped.signal.aborted && !this.#lost.signal.aborted) {
      await clock.sleep(this.#ttlMs * HEARTBEAT, this.#stopped.signal);
      if (this.#stopped.signal.aborted) return;
      const asked = instantOf(clock);
      try {
        if (await ledger.renewLease(this, this.#ttlMs)) this.#validFrom = asked;
        else this.#lose("another instance has taken it");
      } catch {
        // The ledger may be back before the lease runs out.
        if (ageOf(this.#validFrom, clock) >= this.#ttlMs)
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
