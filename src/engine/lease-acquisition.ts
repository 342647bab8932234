import { SyncError } from "../core/errors.ts";
import { interrupted } from "../core/interrupted.ts";
import type { Clock } from "../ports/clock.ts";
import type { Lease, LeaseHolder } from "../ports/lease.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { Observe } from "../ports/observer.ts";
import { type Instant, instantOf } from "./instant.ts";

export interface LeaseSettings {
  /** Names this process for operators and for `isDead`. */
  readonly holder: string;
  readonly ttlMs: number;
  /** The longest that one call to the service can take: none starts with less left of the lease. */
  readonly callMs: number;
  /** Whether a holder is known for certain to be gone. False where that can't be told. */
  readonly isDead: (holder: string) => Promise<boolean>;
}

export interface LeasePorts {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly observe: Observe;
}

export interface GrantedLease {
  readonly lease: Lease;
  readonly validFrom: Instant;
  /** From then on, how long a call of a holder that never gave the lease back may be under way, in milliseconds. */
  readonly formerCallsMs: number;
}

/** A heartbeat comes several times within this part of a lease's length. */
export const HEARTBEAT = 1 / 6;
/**
 * A lease that nothing has moved for so many times its length is taken over, whatever its date says: a database's clock
 * that was set back puts it years ahead. Its holder has given it up by then, also where it lives and can't reach the ledger.
 */
const STANDSTILL = 2;
/** How long a lease is waited for beyond that: somebody may keep its row locked. In milliseconds. */
const LONGEST_LOCK = 60_000;
/** How long a lease is waited for that nobody has, and whose row somebody keeps locked. In milliseconds. */
const LONGEST_LOCK_OF_NOBODY = 30_000;
const PAUSE = 1_000;
/** A heartbeat can be a little late: only then it has stopped. */
const LOOKS_UNTIL_TOLD = 3;

/**
 * Takes the lease. One that is being renewed ends this with LEASE_HELD; one whose holder has stopped renewing it is
 * waited out, though not for ever.
 */
export async function acquireLease(
  { ledger, clock, observe }: LeasePorts,
  { holder, ttlMs, callMs, isDead }: LeaseSettings,
  signal: AbortSignal,
): Promise<GrantedLease> {
  const begun = clock.monotonic();
  let watched: Watched | undefined;
  for (;;) {
    // Before the request: the lease may have been granted at any time since.
    const validFrom = instantOf(clock);
    const attempt = await ledger.acquireLease(holder, ttlMs);
    if (attempt.kind === "acquired") {
      const { lease, abandonedMs } = attempt;
      return {
        lease,
        validFrom,
        formerCallsMs: abandonedMs === null ? 0 : Math.max(0, callMs - abandonedMs),
      };
    }
    if (attempt.kind === "locked") {
      if (signal.aborted) throw interrupted();
      if (clock.monotonic() - begun > LONGEST_LOCK_OF_NOBODY) throw attempt.error;
      await clock.sleep(PAUSE, signal);
      continue;
    }
    const { by } = attempt;
    let { locked } = attempt;
    const isSame = watched?.by.epoch === by.epoch;
    const hasMoved = isSame && watched?.by.expiresAt.getTime() !== by.expiresAt.getTime();
    watched =
      isSame && watched
        ? { ...watched, looks: watched.looks + 1 }
        : { by, since: clock.monotonic(), looks: 1 };
    // From the answer to the first look until the last one was asked: this process itself may have stood still.
    const stillMs = validFrom.monotonic - watched.since;
    const standsStill = !hasMoved && stillMs >= STANDSTILL * ttlMs;
    if ((await isDead(by.holder)) || standsStill) {
      const seizure = await ledger.seizeLease(by, holder, ttlMs);
      const { lease } = seizure;
      locked = seizure.locked;
      if (lease && standsStill) observe({ kind: "warning", ...takenOver(by, stillMs) });
      if (lease) return { lease, validFrom, formerCallsMs: callMs };
    }
    if (signal.aborted) throw interrupted();
    if (hasMoved || clock.monotonic() - begun > STANDSTILL * ttlMs + LONGEST_LOCK)
      throw held(by, hasMoved, locked);
    if (watched.looks === LOOKS_UNTIL_TOLD) {
      const leftMs = by.expiresAt.getTime() - clock.now().getTime();
      const ms = Math.max(0, Math.min(leftMs, STANDSTILL * ttlMs - stillMs));
      const until = by.expiresAt.toISOString();
      observe({
        kind: "waiting",
        ms,
        reason: `${by.holder} has the lease until ${until}, and has stopped renewing it`,
      });
    }
    await clock.sleep(ttlMs * HEARTBEAT, signal);
  }
}

interface Watched {
  /** As it was first seen. */
  readonly by: LeaseHolder;
  /** By the monotonic clock. */
  readonly since: number;
  readonly looks: number;
}

const held = ({ holder, acquiredAt }: LeaseHolder, isAlive: boolean, locked?: string): SyncError =>
  isAlive
    ? new SyncError(
        "LEASE_HELD",
        `another instance is at work: ${holder}, since ${acquiredAt.toISOString()}`,
        {
          hint: "it ends by itself; `groupsync status` shows how long it has been running",
        },
      )
    : new SyncError(
        "LEASE_HELD",
        `another instance stands still in the middle of a write: ${holder}${locked ? `; ${locked}` : ""}`,
        {
          hint: "end that process, or its session in the ledger's database, which keeps the lease's row locked",
        },
      );

const takenOver = ({ holder, expiresAt }: LeaseHolder, stillMs: number) => ({
  code: "LEASE_TAKEN_OVER",
  message: `the lease was taken over from ${holder}, who had it until ${expiresAt.toISOString()}: nothing has renewed it for ${Math.round(stillMs / 1_000)} seconds`,
  hint: "was the clock of the ledger's database set back? Should that process still live, the ledger takes no more of its writes",
});
