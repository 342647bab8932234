import { interrupted } from "../../../core/failure/sync-error.ts";

/** The limits of a session's waits, in milliseconds. */
export interface SessionTimeouts {
  /** How long the server has a statement wait for another session's lock, unless {@link WaitLimits} say otherwise. */
  readonly lockMs: number;
  /** How long the server may send nothing while this process waits for its answer. */
  readonly silenceMs: number;
}

/** The limits of one statement, in milliseconds. */
export interface WaitLimits {
  /** The longest wait for the answer, even if the session is at work. */
  readonly answerMs: number;
  /** The longest wait for the answer after this process is told to stop. */
  readonly afterStopMs: number;
  /** A read can be abandoned: after a stop it rejects with INTERRUPTED. */
  readonly isRead: boolean;
  /** Override the session's own limits. */
  readonly lockMs?: number;
  readonly silenceMs?: number;
}

/** A long read has no time limit, and ends at once on a stop. */
export const LONG_READ: WaitLimits = { answerMs: Number.POSITIVE_INFINITY, afterStopMs: 0, isRead: true };
/**
 * A step of a read that takes moments, unless a pooler has no connection to spare: to open or end its transaction, or to
 * look at a few rows that an index finds. It may be the first statement after a pause. If the host has gone meanwhile, TCP
 * repeats that statement for a quarter of an hour, and doesn't ask whether the host is there.
 */
export const STEP: WaitLimits = { ...LONG_READ, answerMs: 60_000 };
/** A short read may go on for a moment after a stop: recording what has happened may need the answer. */
export const SHORT_READ: WaitLimits = { answerMs: 60_000, afterStopMs: 2_000, isRead: true };
/** A write gets more time after a stop, and for a lock. */
export const WRITE: WaitLimits & { readonly lockMs: number } = {
  answerMs: 60_000,
  afterStopMs: 10_000,
  isRead: false,
  lockMs: 50_000,
};
/** The lease's row is locked for moments only, unless its holder stands still. The caller tries again soon. */
export const LEASE_CALL: WaitLimits = { ...SHORT_READ, lockMs: 4_000 };
/** A migration of a large table may take long, and send nothing. Its waits for locks keep the session's limit. */
export const MIGRATION: WaitLimits = {
  answerMs: Number.POSITIVE_INFINITY,
  afterStopMs: 10_000,
  isRead: false,
  silenceMs: Number.POSITIVE_INFINITY,
};

/** How long the end of a connection, a request to cancel or a question about a lock may take, in milliseconds. */
export const FAREWELL = 5_000;

/** The database hasn't answered within the limit. */
export class NoAnswer extends Error {
  constructor(ms: number) {
    super(`the database has not answered for ${Math.round(ms / 1_000)} s`);
  }
}

/** Settles as `work` does. Rejects once the limits are over; `work` itself goes on. */
export async function withinLimits<T>(stop: AbortSignal, work: Promise<T>, limits: WaitLimits): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let onStop = (): void => {};
  const isOver = new Promise<never>((_, reject) => {
    const rejectAfter = (ms: number, error: () => Error): void => {
      clearTimeout(timer);
      if (ms !== Number.POSITIVE_INFINITY) timer = setTimeout(() => reject(error()), ms);
    };
    onStop = () => {
      if (endsAtOnce(stop, limits)) return reject(interrupted());
      const ms = Math.min(limits.afterStopMs, limits.answerMs);
      rejectAfter(ms, limits.isRead ? interrupted : () => new NoAnswer(ms));
    };
    if (stop.aborted) onStop();
    else rejectAfter(limits.answerMs, () => new NoAnswer(limits.answerMs));
  });
  stop.addEventListener("abort", onStop, { once: true });
  try {
    return await Promise.race([work, isOver]);
  } finally {
    clearTimeout(timer);
    stop.removeEventListener("abort", onStop);
  }
}

/** If a read stops waiting for a pool's connection, the connection goes back to the pool as soon as it is open. */
export async function ofPool<Connection extends { release(): void }>(
  stop: AbortSignal,
  connecting: Promise<Connection>,
  limits: WaitLimits,
): Promise<Connection> {
  if (!limits.isRead) return connecting;
  return withinLimits(stop, connecting, limits).catch((error: unknown) => {
    connecting.then(
      (connection) => connection.release(),
      () => {},
    );
    throw error;
  });
}

/** Settles as `answer` does. Rejects after `ms` milliseconds, even if this process is told to stop. */
export const withTimeout = <T>(ms: number, answer: Promise<T>): Promise<T> =>
  // Not by the driver's own timer: if the connection is lost, that timer keeps running and keeps the process alive.
  withinLimits(new AbortController().signal, answer, { answerMs: ms, afterStopMs: ms, isRead: true });

/** Whether the process was told to stop, and these limits allow no time after that. */
export const endsAtOnce = (stop: AbortSignal, { afterStopMs }: WaitLimits): boolean =>
  stop.aborted && afterStopMs === 0;
