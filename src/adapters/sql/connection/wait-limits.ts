import { interrupted } from "../../../core/failure/sync-error.ts";

/** When a silent session is inspected, and how long it may wait for a lock. In milliseconds. */
export interface SessionTimeouts {
  /** The session is inspected over another connection each time the server has sent nothing for this long. */
  readonly silenceMs: number;
  /** The most that one inspection may take. */
  readonly inspectMs: number;
  /** The longest wait for another session's lock, unless {@link WaitLimits} say otherwise. */
  readonly lockMs: number;
}

/**
 * The server's own limit for a wait for a lock, in milliseconds. The server's error doesn't name the lock's holder, so
 * this process has to give up first. It may need an inspection that begins just before `lockMs` is over, and one more.
 */
export const serverLockMs = ({ silenceMs, inspectMs, lockMs }: SessionTimeouts): number =>
  lockMs + silenceMs + 2 * inspectMs;

/** The limits of one statement, in milliseconds. */
export interface WaitLimits {
  /** The longest wait for the answer, even if the session is at work. */
  readonly answerMs: number;
  /** The longest wait for the answer after this process is told to stop. */
  readonly afterStopMs: number;
  /** A read can be abandoned: after a stop it rejects with INTERRUPTED. */
  readonly isRead: boolean;
  /** These override the session's own timeouts. */
  readonly lockMs?: number;
  readonly silenceMs?: number;
}

/** A long read has no time limit, and ends at once on a stop. */
export const LONG_READ: WaitLimits = { answerMs: Number.POSITIVE_INFINITY, afterStopMs: 0, isRead: true };
/** A short read may go on for a moment after a stop: recording what has happened may need the answer. */
export const SHORT_READ: WaitLimits = { answerMs: 60_000, afterStopMs: 2_000, isRead: true };
/** A write gets more time after a stop. It has no lock limit here: its transaction sets one on the server. */
export const WRITE: WaitLimits = {
  answerMs: 60_000,
  afterStopMs: 10_000,
  isRead: false,
  lockMs: Number.POSITIVE_INFINITY,
};
/** The lease's row is locked for moments only, unless its holder stands still. The caller tries again soon. */
export const LEASE_CALL: WaitLimits = { ...SHORT_READ, silenceMs: 500, lockMs: 2_000 };
/** A migration of a large table may take long. Its waits for locks keep the session's limit. */
export const MIGRATION: WaitLimits = {
  answerMs: Number.POSITIVE_INFINITY,
  afterStopMs: 10_000,
  isRead: false,
};

/** The database hasn't answered within the limit. */
export class NoAnswer extends Error {}

/** Settles as `work` does. Rejects once the limits are over; `work` itself goes on. */
export async function withinLimits<T>(
  stop: AbortSignal,
  work: Promise<T>,
  limits: WaitLimits = LONG_READ,
): Promise<T> {
  const deadline = deadlineOf(stop, limits);
  try {
    return await Promise.race([work, deadline.reached]);
  } finally {
    deadline.clear();
  }
}

/** Settles as `answer` does. Rejects after `ms` milliseconds. */
export async function withTimeout<T>(ms: number, answer: Promise<T>): Promise<T> {
  // Don't use the driver's own timer: if the connection is lost, that timer keeps running and keeps the process alive.
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("the database doesn't answer")), ms);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Whether the process was told to stop, and these limits allow no time after that. */
export const endsAtOnce = (stop: AbortSignal, { afterStopMs }: WaitLimits): boolean =>
  stop.aborted && afterStopMs === 0;

function deadlineOf(
  stop: AbortSignal,
  limits: WaitLimits,
): { readonly reached: Promise<never>; clear(): void } {
  let timer: NodeJS.Timeout | undefined;
  let onStop = (): void => {};
  const reached = new Promise<never>((_, reject) => {
    const rejectAfter = (ms: number, error: () => Error): void => {
      clearTimeout(timer);
      if (ms !== Number.POSITIVE_INFINITY) timer = setTimeout(() => reject(error()), ms);
    };
    const noAnswer = (ms: number) => (): Error =>
      new NoAnswer(`the database has not answered for ${inSeconds(ms)}`);
    onStop = () => {
      if (endsAtOnce(stop, limits)) return reject(interrupted());
      const ms = Math.min(limits.afterStopMs, limits.answerMs);
      rejectAfter(ms, limits.isRead ? interrupted : noAnswer(ms));
    };
    if (stop.aborted) onStop();
    else rejectAfter(limits.answerMs, noAnswer(limits.answerMs));
  });
  stop.addEventListener("abort", onStop, { once: true });
  return {
    reached,
    clear: () => {
      clearTimeout(timer);
      stop.removeEventListener("abort", onStop);
    },
  };
}

export const inSeconds = (ms: number): string => `${Math.round(ms / 1000)} s`;
