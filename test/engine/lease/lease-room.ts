import { SyncError } from "../../../src/core/failure/sync-error.ts";
import type { LeaseSettings } from "../../../src/engine/lease/acquire-lease.ts";
import { type HeldLease, withLease } from "../../../src/engine/lease/lease.ts";
import type { RunEvent } from "../../../src/ports/observer.ts";
import { Instance } from "../../fakes/instance.ts";
import { inMemoryLedger } from "../../fakes/ledger/ledger.ts";
import { LedgerState } from "../../fakes/ledger/ledger-state.ts";
import { VirtualClock, VirtualTime } from "../../fakes/virtual-time.ts";

export const TTL = 45_000;
export const CALL = 15_000;

/** Several instances around one ledger. */
export class Room {
  readonly time = new VirtualTime();
  readonly state = new LedgerState();
  /** While it is set, nobody reaches the ledger. */
  outage = false;
  /** Holders that can't reach the ledger. */
  readonly cutOff = new Set<string>();
  /** Holders that are suspended once, right after the first answer about the lease, for this many milliseconds. */
  readonly late = new Map<string, number>();
  /** How long the answer to a renewal of the lease is on its way, in milliseconds. */
  lateRenewals = 0;

  enter(holder: string, settings: Partial<LeaseSettings> = {}, signal = new AbortController().signal) {
    const clock = new VirtualClock(this.time);
    const instance = new Instance({
      at: ({ when, call }) => {
        if (this.outage || this.cutOff.has(holder)) throw new SyncError("LEDGER_UNAVAILABLE", "no route");
        if (when === "after" && call === "renewLease") return this.time.sleep(this.lateRenewals);
        const ms = when === "after" && call === "acquireLease" ? this.late.get(holder) : undefined;
        if (ms === undefined) return;
        this.late.delete(holder);
        return this.time.sleep(ms);
      },
    });
    const ledger = inMemoryLedger(this.state, instance.step, () => this.time.now());
    const all = { holder, ttlMs: TTL, callMs: CALL, isDead: async () => false, ...settings };
    const events: RunEvent[] = [];
    const ports = { ledger, clock, observe: (event: RunEvent) => events.push(event) };
    const hold = <T>(body: (lease: HeldLease) => Promise<T>): Promise<T | "died"> =>
      Promise.race([withLease(ports, all, signal, body), instance.died]);
    return { clock, instance, hold, events };
  }
}

export const code = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => value,
    (error: unknown) => (error instanceof SyncError ? error.code : error),
  );

export function roomOf() {
  const room = new Room();
  return { time: room.time, state: room.state, late: room.late, enter: room.enter.bind(room) };
}
