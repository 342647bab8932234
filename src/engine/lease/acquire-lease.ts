import { interrupted, SyncError } from "../../core/failure/sync-error.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Lease, LeaseHolder } from "../../ports/ledger/lease.ts";
import type { Ledger } from "../../ports/ledger/ledger.ts";
import type { LedgerRequest, RequestId } from "../../ports/ledger/requests.ts";
import type { Observe } from "../../ports/observer.ts";

export interface LeaseSettings {
  /** Names this process for operators and for `isDead`. */
  readonly holder: string;
  readonly ttlMs: number;
  /** The longest that one call to the service, or one change of a store outside of the ledger's database, can take. None starts if less time is left of the lease. */
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
  /** Until when requests of a former holder that never released the lease may take effect, by the monotonic clock; null if none can. */
  readonly unsureUntil: number | null;
}

/** How long after its sender has lost the lease a request may take effect at the latest, in milliseconds. */
const LATEST_EFFECT = 60_000;
/** The lease is renewed each time that this part of its length has passed. */
export const HEARTBEAT = 1 / 6;
/**
 * How much longer than its length to wait for a lease that nobody renews, in milliseconds. Its row may be locked for a while, and
 * its date may be years ahead if the database's clock was set back.
 */
const LONGEST_DELAY = 60_000;
const PAUSE = 1_000;
/** After this many heartbeats without a renewal, the heartbeat is reported as stopped: it can be a little late. */
const BEATS_UNTIL_REPORTED = 2;
/** How often the holder looks what others ask of it. In milliseconds. */
export const HOLDER_CHECKS_EVERY = 500;
/** How often whoever asks for the lease looks whether it is free. In milliseconds. */
const REQUESTER_CHECKS_EVERY = 250;
/** After its last call, the holder records the answers and closes what it has open. In milliseconds. */
const LONGEST_END_OF_RUN = 30_000;

/**
 * Takes the lease, from a holder that is known to be dead at once. If its holder hands the lease over on request, asks for
 * that and waits. Rejects with LEASE_HELD if the holder renews the lease and doesn't hand it over. Waits for the lease to run out
 * if its holder has stopped renewing it, though not for ever.
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
  const isOverdue = (): boolean => clock.monotonic() - begun > ttlMs + LONGEST_DELAY;
  const sleep = async (ms: number): Promise<void> => {
    if (signal.aborted) throw interrupted();
    await clock.sleep(ms, signal);
  };
  /** The holder since it was last awaited, and since when. */
  let seen: { readonly by: LeaseHolder; readonly at: number } | undefined;
  let isReported = false;
  for (;;) {
    const first = handsOver ? await firstRequest(ledger) : undefined;
    if (first) {
      if (isOverdue()) throw askedFor(first);
      await sleep(PAUSE);
      continue;
    }
    // Read the clocks before the request: the ledger may grant the lease at any time from now on.
    const validFrom = readClocks(clock);
    const terms = { handOverMs: handsOver ? callMs : null };
    let attempt = await ledger.acquireLease(holder, ttlMs, terms);
    if (attempt.kind === "held" && (await isDead(attempt.by.holder)))
      attempt = await ledger.acquireLease(holder, ttlMs, { ...terms, dead: attempt.by });
    if (attempt.kind === "acquired") {
      const { lease, abandonedMs } = attempt;
      return {
        lease,
        validFrom,
        formerCallsMs: abandonedMs === null ? 0 : Math.max(0, callMs - abandonedMs),
        unsureUntil: unsureUntil(validFrom, abandonedMs),
      };
    }
    if (attempt.kind === "locked") {
      if (isOverdue()) throw attempt.error;
      await sleep(PAUSE);
      continue;
    }
    const { by, locked } = attempt;
    // A renewal by a holder that is about to hand over is no reason to end.
    if (!asksNobody && !signal.aborted && (await request.isWorthWaiting(by))) {
      seen = undefined;
      await sleep(REQUESTER_CHECKS_EVERY);
      continue;
    }
    const isRenewed = seen !== undefined && !isSameLease(seen.by, by);
    if (isRenewed) throw atWork(by, asksNobody && !handsOver);
    if (seen && isOverdue()) throw notRenewed(by, locked);
    seen ??= { by, at: clock.monotonic() };
    if (!isReported && clock.monotonic() - seen.at >= BEATS_UNTIL_REPORTED * ttlMs * HEARTBEAT) {
      isReported = true;
      observe({
        kind: "waiting",
        ms: Math.max(0, Math.min(ttlMs, by.expiresAt.getTime() - clock.now().getTime())),
        reason: `${by.holder} has the lease until ${by.expiresAt.toISOString()}, and has stopped renewing it`,
      });
    }
    await sleep(handsOver ? PAUSE : ttlMs * HEARTBEAT);
  }
}

function unsureUntil({ monotonic }: ClockReading, abandonedMs: number | null): number | null {
  if (abandonedMs === null || abandonedMs >= LATEST_EFFECT) return null;
  return monotonic - abandonedMs + LATEST_EFFECT;
}

/** Neither renewed nor taken by another holder. */
const isSameLease = (one: LeaseHolder, other: LeaseHolder): boolean =>
  one.epoch === other.epoch && one.expiresAt.getTime() === other.expiresAt.getTime();

const firstRequest = async (ledger: Ledger): Promise<LedgerRequest | undefined> =>
  (await ledger.requests().catch(() => [])).find(isForLease);

export const isForLease = ({ user_group_id }: LedgerRequest): boolean => user_group_id === null;

const atWork = ({ holder, acquiredAt }: LeaseHolder, mustBeStopped: boolean): SyncError =>
  new SyncError("LEASE_HELD", `another instance is at work: ${holder}, since ${acquiredAt.toISOString()}`, {
    hint: mustBeStopped
      ? "stop that daemon, or wait until that command has ended, and run this again; nothing was changed"
      : "it ends by itself; `groupsync status` shows how long it has been running",
  });

function notRenewed({ holder, expiresAt }: LeaseHolder, locked: string | undefined): SyncError {
  if (locked !== undefined)
    return new SyncError(
      "LEASE_HELD",
      `another instance stands still in the middle of a write: ${holder}; ${locked}`,
      {
        hint: "end that process, or its session in the ledger's database, which keeps the lease's row locked",
      },
    );
  const until = expiresAt.toISOString();
  return new SyncError("LEASE_HELD", `${holder} has the lease until ${until}, and has stopped renewing it`, {
    hint: "end that process if it still runs; if the clock of the ledger's database was set back, end the lease by hand: `groupsync help LEASE_HELD` has the statement",
  });
}

const askedFor = ({ requester }: LedgerRequest): SyncError =>
  new SyncError("LEASE_HELD", `another instance asks for the lease: ${requester}`, {
    hint: "it gets the lease first, and this one goes on after it",
  });

/** A command's request for a lease whose holder hands it over. */
class HandOverRequest {
  readonly #ports: LeasePorts;
  readonly #requester: string;
  #id: RequestId | undefined;
  /** By the monotonic clock. Undefined until the request is made. */
  #waitsUntil: number | undefined;

  constructor(ports: LeasePorts, requester: string) {
    this.#ports = ports;
    this.#requester = requester;
  }

  /**
   * Makes the request if the holder hands over. Resolves to false if there is nothing to wait for: the holder doesn't hand over,
   * or has not done so in time. A ledger that can't keep requests counts as such a holder.
   */
  async isWorthWaiting(by: LeaseHolder): Promise<boolean> {
    // If the ledger is out of reach, the next attempt to take the lease says so.
    if (this.#waitsUntil === undefined) return this.#make(by).catch(() => false);
    if (this.#ports.clock.monotonic() < this.#waitsUntil) return true;
    await this.withdraw();
    return false;
  }

  /** Without this, a daemon would wait until the request ends by itself. */
  async withdraw(): Promise<void> {
    const id = this.#id;
    this.#id = undefined;
    if (id !== undefined) await this.#ports.ledger.dropRequests([id]).catch(() => {});
  }

  async #make(by: LeaseHolder): Promise<boolean> {
    const { ledger, clock, observe } = this.#ports;
    if (by.handOverMs === null) return false;
    const ms = longestWait(by.handOverMs);
    this.#id = await ledger.putRequest(null, this.#requester, ms);
    this.#waitsUntil = clock.monotonic() + ms;
    observe({
      kind: "waiting",
      ms,
      reason: `${by.holder} has the lease, and hands it over once its calls under way have ended`,
    });
    return true;
  }
}

/** Until the holder has seen the request, its calls under way have ended, and it has recorded the answers. */
const longestWait = (callMs: number): number => 2 * HOLDER_CHECKS_EVERY + callMs + LONGEST_END_OF_RUN;

/** The same moment by both clocks of a machine, in milliseconds. */
export interface ClockReading {
  readonly monotonic: number;
  readonly wall: number;
}

export const readClocks = (clock: Clock): ClockReading => ({
  monotonic: clock.monotonic(),
  wall: clock.now().getTime(),
});

/**
 * Milliseconds since a reading, by the clock that has advanced further. The monotonic clock may stop while the machine sleeps,
 * and the wall clock can be set back.
 */
export function msSince(then: ClockReading, clock: Clock): number {
  const now = readClocks(clock);
  return Math.max(now.monotonic - then.monotonic, now.wall - then.wall);
}
