import { interrupted, SyncError } from "../../core/failure/sync-error.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Lease, LeaseHolder } from "../../ports/ledger/lease.ts";
import type { Ledger } from "../../ports/ledger/ledger.ts";
import type { LeaseRequest } from "../../ports/ledger/requests.ts";
import type { Observe } from "../../ports/observer.ts";
import { type ClockReading, readClocks } from "./elapsed-time.ts";
import { HandOverRequest, REQUESTER_LOOKS_EVERY } from "./hand-over-request.ts";

export interface LeaseSettings {
  /** Names this process for operators and for `isDead`. */
  readonly holder: string;
  readonly ttlMs: number;
  /** The longest that one call to the service can take. No call starts if less time is left of the lease. */
  readonly callMs: number;
  /** Whether a holder is certainly dead. False if nobody can tell. */
  readonly isDead: (holder: string) => Promise<boolean>;
  /**
   * Whether this process hands the lease over if another one asks for it, as a daemon does for a command. Such a process
   * asks nobody, and takes the lease only if nobody else asks for it.
   */
  readonly handsOver?: boolean;
  /** Whether this process asks nobody to hand the lease over: whoever holds it has to be stopped first. */
  readonly asksNobody?: boolean;
}

export interface LeasePorts {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly observe: Observe;
}

export interface GrantedLease {
  readonly lease: Lease;
  /** The lease lasts for its whole length from this moment. */
  readonly validFrom: ClockReading;
  /**
   * How long after `validFrom` a call of the former holder may still be under way, in milliseconds. 0 if that holder released
   * the lease.
   */
  readonly formerCallsMs: number;
}

/** The lease is renewed each time that this part of its length has passed. */
export const HEARTBEAT = 1 / 6;
/**
 * A lease that nobody has renewed for this many times its length is taken over, whatever its expiry date says: the date may be
 * years ahead if the database's clock was set back. By then a holder that lives but can't reach the ledger has given up.
 */
const LENGTHS_UNTIL_TAKEN_OVER = 2;
/** How much longer to wait for a lease whose row somebody keeps locked. In milliseconds. */
const LONGEST_LOCK = 60_000;
/** How long to wait for a free lease whose row somebody keeps locked. In milliseconds. */
const LONGEST_LOCK_OF_NOBODY = 30_000;
const PAUSE = 1_000;
/** After this many heartbeats without a renewal, the heartbeat is reported as stopped: it can be a little late. */
const BEATS_UNTIL_REPORTED = 2;

/**
 * Takes the lease. If its holder hands the lease over on request, asks for that and waits. Rejects with LEASE_HELD if the
 * holder renews the lease and doesn't hand it over. Waits for the lease to run out if its holder has stopped renewing it,
 * though not for ever.
 */
export async function acquireLease(
  ports: LeasePorts,
  settings: LeaseSettings,
  signal: AbortSignal,
): Promise<GrantedLease> {
  const request = new HandOverRequest(ports, settings.holder);
  try {
    return await untilGranted(ports, settings, request, signal);
  } finally {
    await request.withdraw();
  }
}

async function untilGranted(
  { ledger, clock, observe }: LeasePorts,
  { holder, ttlMs, callMs, isDead, handsOver = false, asksNobody = handsOver }: LeaseSettings,
  request: HandOverRequest,
  signal: AbortSignal,
): Promise<GrantedLease> {
  const begun = clock.monotonic();
  const isOverdue = (): boolean =>
    clock.monotonic() - begun > LENGTHS_UNTIL_TAKEN_OVER * ttlMs + LONGEST_LOCK;
  let watched: Watched | undefined;
  for (;;) {
    const first = handsOver ? await firstRequest(ledger) : undefined;
    if (first) {
      if (signal.aborted) throw interrupted();
      if (isOverdue()) throw askedFor(first);
      await clock.sleep(PAUSE, signal);
      continue;
    }
    // Read the clocks before the request: the ledger may grant the lease at any time from now on.
    const validFrom = readClocks(clock);
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
    const isAwaited = !asksNobody && (await request.isWorthWaiting(by));
    const isSame = watched?.by.epoch === by.epoch;
    const isRenewed = isSame && watched?.by.expiresAt.getTime() !== by.expiresAt.getTime();
    // A renewal by a holder that is about to hand over is no reason to end. It only shows that the holder lives.
    const hasMoved = isRenewed && !isAwaited;
    if (!watched || !isSame || (isRenewed && isAwaited))
      watched = { by, since: clock.monotonic(), isReported: false };
    // Measure from the first answer to the start of the last request: this process itself may have been suspended in between.
    const stillMs = validFrom.monotonic - watched.since;
    const standsStill = !hasMoved && stillMs >= LENGTHS_UNTIL_TAKEN_OVER * ttlMs;
    if ((await isDead(by.holder)) || standsStill) {
      const seizure = await ledger.seizeLease(by, holder, ttlMs);
      const { lease } = seizure;
      locked = seizure.locked;
      if (lease && standsStill) observe({ kind: "warning", ...takenOver(by, stillMs) });
      if (lease) return { lease, validFrom, formerCallsMs: callMs };
    }
    if (signal.aborted) throw interrupted();
    if (hasMoved || isOverdue()) throw held(by, hasMoved, asksNobody && !handsOver, locked);
    if (!watched.isReported && stillMs >= BEATS_UNTIL_REPORTED * ttlMs * HEARTBEAT) {
      watched = { ...watched, isReported: true };
      const leftMs = by.expiresAt.getTime() - clock.now().getTime();
      const ms = Math.max(0, Math.min(leftMs, LENGTHS_UNTIL_TAKEN_OVER * ttlMs - stillMs));
      const until = by.expiresAt.toISOString();
      observe({
        kind: "waiting",
        ms,
        reason: `${by.holder} has the lease until ${until}, and has stopped renewing it`,
      });
    }
    await clock.sleep(isAwaited ? REQUESTER_LOOKS_EVERY : handsOver ? PAUSE : ttlMs * HEARTBEAT, signal);
  }
}

const firstRequest = async (ledger: Ledger): Promise<LeaseRequest | undefined> =>
  (await ledger.openRequests().catch(() => undefined))?.lease[0];

interface Watched {
  /** The holder as first seen. */
  readonly by: LeaseHolder;
  /** By the monotonic clock. */
  readonly since: number;
  /** Whether it was reported that the holder has stopped renewing the lease. */
  readonly isReported: boolean;
}

const held = (
  { holder, acquiredAt }: LeaseHolder,
  isAlive: boolean,
  mustBeStopped: boolean,
  locked?: string,
): SyncError =>
  isAlive
    ? new SyncError(
        "LEASE_HELD",
        `another instance is at work: ${holder}, since ${acquiredAt.toISOString()}`,
        {
          hint: mustBeStopped
            ? "stop that daemon, or wait until that command has ended, and run this again; nothing was changed"
            : "it ends by itself; `groupsync status` shows how long it has been running",
        },
      )
    : new SyncError(
        "LEASE_HELD",
        `another instance stands still in the middle of a write: ${holder}${locked ? `; ${locked}` : ""}`,
        {
          hint: "end that process, or its session in the ledger's database, which keeps the lease's row locked",
        },
      );

const askedFor = ({ requester }: LeaseRequest): SyncError =>
  new SyncError("LEASE_HELD", `another instance asks for the lease: ${requester}`, {
    hint: "it gets the lease first, and this one goes on after it",
  });

const takenOver = ({ holder, expiresAt }: LeaseHolder, stillMs: number) => ({
  code: "LEASE_TAKEN_OVER",
  message: `the lease was taken over from ${holder}, who had it until ${expiresAt.toISOString()}: nothing has renewed it for ${Math.round(stillMs / 1_000)} seconds`,
  hint: "was the clock of the ledger's database set back? Should that process still live, the ledger takes no more of its writes",
});
