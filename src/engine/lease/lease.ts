import { SyncError } from "../../core/failure/sync-error.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Lease } from "../../ports/ledger/lease.ts";
import type { Ledger } from "../../ports/ledger/ledger.ts";
import type { LedgerRequest } from "../../ports/ledger/requests.ts";
import {
  acquireLease,
  type ClockReading,
  type GrantedLease,
  HEARTBEAT,
  HOLDER_CHECKS_EVERY,
  isForLease,
  type LeasePorts,
  type LeaseSettings,
  msSince,
  readClocks,
} from "./acquire-lease.ts";

/** Proof that no other instance is at work. */
export interface HeldLease extends Lease {
  /** Aborts with a LEASE_LOST or LEDGER_REWOUND error as its reason once the lease may belong to another instance. */
  readonly lost: AbortSignal;
  /**
   * Aborts with a LEASE_HANDED_OVER error as its reason once another instance asks for the lease. The holder should then
   * end its work as if it were told to stop. Never aborts if the holder doesn't hand the lease over.
   */
  readonly wanted: AbortSignal;
  /**
   * Throws LEASE_LOST if the lease may not last. Call this right before every call that changes the service, or a token store
   * outside of the ledger's database.
   */
  assertHeld(): void;
  /** Until when requests of a former holder that never released the lease may take effect, by the monotonic clock; null if none can. */
  readonly unsureUntil: number | null;
  /**
   * The run doesn't end before this task, even if the lease is lost. If another instance has taken over by then, the ledger
   * refuses what the task writes.
   */
  awaitAlways<T>(task: Promise<T>): Promise<T>;
  /**
   * Resolves when no call of a former holder that never released the lease can be under way any more, or when the signal
   * aborts. Before that, a GET could miss the effect of such a call.
   */
  formerCallsEnded(signal: AbortSignal): Promise<void>;
  /**
   * Calls `onTenants` with the ids that other instances ask for, several times a second if there are any, and then
   * withdraws their requests. Never calls it if the holder doesn't hand the lease over. Returns the function that ends this.
   */
  takeRequests(onTenants: (ids: readonly string[]) => void): () => void;
}

/** What a step needs to write to the ledger: a write commits only while the lease is held. */
export interface LedgerWriting {
  readonly ledger: Ledger;
  readonly lease: HeldLease;
  readonly clock: Clock;
}

/** Runs `body` while holding the lease, then releases the lease. Rejects as `acquireLease` does, and with LEASE_LOST. */
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
    // If this fails, the lease expires by itself.
    if (!heartbeat.lost.aborted) await ports.ledger.releaseLease(granted.lease).catch(() => {});
  }
}

/** Renews the lease several times within its length, and notices when it is lost. */
class Heartbeat implements HeldLease {
  readonly epoch: string;
  readonly unsureUntil: number | null;
  readonly #ports: LeasePorts;
  readonly #ttlMs: number;
  readonly #callMs: number;
  readonly #lost = new AbortController();
  readonly #wanted = new AbortController();
  readonly #stopped = new AbortController();
  readonly #beating: Promise<void>;
  readonly #listening: Promise<void>;
  readonly #tasks = new Set<Promise<unknown>>();
  #onTenants: ((ids: readonly string[]) => void) | undefined;
  /** By the monotonic clock. */
  readonly #formerCallsEnd: number;
  #validFrom: ClockReading;
  #hasReportedFormerCalls = false;

  constructor(
    ports: LeasePorts,
    { lease, validFrom, formerCallsMs, unsureUntil }: GrantedLease,
    { ttlMs, callMs, handsOver = false }: LeaseSettings,
  ) {
    this.#ports = ports;
    this.epoch = lease.epoch;
    this.unsureUntil = unsureUntil;
    this.#ttlMs = ttlMs;
    this.#callMs = callMs;
    this.#validFrom = validFrom;
    this.#formerCallsEnd = validFrom.monotonic + formerCallsMs;
    this.#beating = this.#beat();
    this.#listening = handsOver ? this.#listen() : Promise.resolve();
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  get wanted(): AbortSignal {
    return this.#wanted.signal;
  }

  assertHeld(): void {
    if (msSince(this.#validFrom, this.#ports.clock) + this.#callMs >= this.#ttlMs)
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
    if (!this.#hasReportedFormerCalls)
      observe({
        kind: "waiting",
        ms,
        reason: "a run that was cut short may have sent calls that the service is still at",
      });
    this.#hasReportedFormerCalls = true;
    await clock.sleep(ms, signal);
  }

  takeRequests(onTenants: (ids: readonly string[]) => void): () => void {
    this.#onTenants = onTenants;
    return () => {
      this.#onTenants = undefined;
    };
  }

  async allTasks(): Promise<void> {
    while (this.#tasks.size > 0) await Promise.allSettled(this.#tasks);
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await Promise.all([this.#beating, this.#listening]);
  }

  async #beat(): Promise<void> {
    const { ledger, clock } = this.#ports;
    while (!this.#stopped.signal.aborted && !this.#lost.signal.aborted) {
      await clock.sleep(this.#ttlMs * HEARTBEAT, this.#stopped.signal);
      if (this.#stopped.signal.aborted) return;
      const asked = readClocks(clock);
      try {
        const lost = await ledger.renewLease(this, this.#ttlMs);
        if (lost) this.#lost.abort(lost);
        else this.#validFrom = asked;
      } catch {
        // The ledger may come back before the lease runs out.
        if (msSince(this.#validFrom, clock) >= this.#ttlMs)
          this.#lose("the ledger could not be reached to renew it");
      }
    }
  }

  /** Looks who asks for the lease or for a tenant. */
  async #listen(): Promise<void> {
    const { ledger, clock } = this.#ports;
    while (!this.#stopped.signal.aborted && !this.#lost.signal.aborted) {
      try {
        const requests = await ledger.requests();
        const first = requests.find(isForLease);
        if (first) return this.#wanted.abort(handedOver(first));
        if (requests.length > 0 && this.#onTenants) {
          this.#onTenants(requests.flatMap(({ user_group_id }) => user_group_id ?? []));
          await ledger.dropRequests(requests.map(({ id }) => id));
        }
      } catch {
        // If the ledger is out of reach, nobody can ask either. The heartbeat notices if that lasts.
      }
      await clock.sleep(HOLDER_CHECKS_EVERY, this.#stopped.signal);
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

const handedOver = ({ requester }: LedgerRequest): SyncError =>
  new SyncError("LEASE_HANDED_OVER", `the lease was handed over to ${requester}, who asked for it`, {
    hint: "nothing is wrong: the answers so far are recorded, and the sync goes on as soon as that command has ended",
  });

const rejectionOf = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
