import { setMaxListeners } from "node:events";
import { describe } from "../../core/errors.ts";
import { interrupted } from "../../core/interrupted.ts";

/** How long a session is waited for, in milliseconds. */
export interface Patience {
  /** Without a byte from the server, until another connection asks what the session is doing; then again each time. */
  readonly silenceMs: number;
  /** For what the other connection is told. */
  readonly lookMs: number;
  /** For a lock that somebody else holds, where a wait has no limit of its own. */
  readonly lockMs: number;
}

/**
 * For the server's own limit of a wait for a lock, in milliseconds. The server can't say who holds the lock, so this side
 * has to give up first: it may need a look that has begun just before `lockMs` are over, and another one after that.
 */
export const serverLockMs = ({ silenceMs, lookMs, lockMs }: Patience): number =>
  lockMs + silenceMs + 2 * lookMs;

/** What another connection has found out about a session of ours. */
export type Finding =
  /** Also where nobody can tell: a slow answer must not be taken for a lost one. */
  | { readonly kind: "at work" }
  | { readonly kind: "locked"; readonly holders: string }
  /** The server doesn't work for the session, and so no answer will come; `why` in words. */
  | { readonly kind: "lost"; readonly why: string }
  /** The server doesn't answer the other connection either. */
  | { readonly kind: "silent"; readonly why: string };

/** One session in a database, as its attendance needs it. */
export interface Session {
  /** Bytes that have come from the server, in all. */
  received(): number;
  /** Asks over another connection, for so long at most. Never rejects. */
  look(lookMs: number): Promise<Finding>;
  /** Ends the connection at once, and what the server does for it. */
  cut(): void;
  isLockTimeout(error: unknown): boolean;
}

/** What one wait may take beyond the patience with its session, in milliseconds. */
export interface WaitLimits {
  /** For the answer, whatever the session is doing. */
  readonly answerMs: number;
  /** For the answer once this process is told to stop. */
  readonly afterStopMs: number;
  /** Reads can be abandoned: after a stop, the wait rejects with INTERRUPTED. */
  readonly isRead: boolean;
  /** Instead of the patience's. */
  readonly lockMs?: number;
  readonly silenceMs?: number;
}

/** Long reads end at once on stop and have no time limit. */
export const READING: WaitLimits = { answerMs: Number.POSITIVE_INFINITY, afterStopMs: 0, isRead: true };
/** A short read: whoever is told to stop may need it to record what has happened. */
export const ASKING: WaitLimits = { answerMs: 60_000, afterStopMs: 2_000, isRead: true };
/** What has happened is to be recorded also by who is told to stop. Transactions that write limit their waits for locks. */
export const WRITING: WaitLimits = {
  answerMs: 60_000,
  afterStopMs: 10_000,
  isRead: false,
  lockMs: Number.POSITIVE_INFINITY,
};
/** The lease's row is locked for moments, unless its holder stands still. Another try comes soon. */
export const LEASING: WaitLimits = { ...ASKING, silenceMs: 500, lockMs: 2_000 };
/** A migration of a large table may take long. The session's patience limits its waits for locks. */
export const MIGRATING: WaitLimits = {
  answerMs: Number.POSITIVE_INFINITY,
  afterStopMs: 10_000,
  isRead: false,
};

/** One finding may be of a moment in which the answer is on its way. */
const MOST_DOUBTS = 2;

/** Somebody else holds a lock for longer than this session is willing to wait. */
export class LockWait extends Error {}

class NoAnswer extends Error {}

/**
 * Waits for what a session answers, and never without a limit. Silence and a slow answer look alike from here: another
 * connection tells which it is, and who holds the lock that the session waits for.
 */
export class Attendance {
  readonly #session: Session;
  readonly #patience: Patience;
  readonly #stop: AbortSignal;

  constructor(session: Session, patience: Patience, stop: AbortSignal) {
    this.#session = session;
    this.#patience = patience;
    this.#stop = stop;
    // Several sessions listen to it, and Node.js would warn of eleven.
    setMaxListeners(0, stop);
  }

  /**
   * Rejects as the answer does, and if no answer is to be expected any more: the session is cut off then. If it was a lock
   * that took too long, the error names the lock's holders.
   */
  async wait<T>(ask: () => Promise<T>, limits: WaitLimits = READING): Promise<T> {
    if (isOver(this.#stop, limits)) throw interrupted();
    const watch = new Watch(this.#session, { ...this.#patience, ...limits });
    const end = endOf(this.#stop, limits);
    const answered = ask().then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    let outcome: { value: T } | { error: unknown };
    try {
      outcome = await Promise.race([answered, watch.givesUp(), end.reached]);
    } catch (error) {
      this.#session.cut();
      if (watch.holders === "" || !(error instanceof NoAnswer)) throw error;
      throw new LockWait(`${error.message}; ${watch.holders}`);
    } finally {
      watch.over();
      end.over();
    }
    if ("value" in outcome) return outcome.value;
    const { error } = outcome;
    if (watch.holders !== "" && this.#session.isLockTimeout(error) && error instanceof Error) {
      error.message += `; ${watch.holders}`;
    }
    throw error;
  }

  /** Each item is waited for as a read. */
  async *each<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
    const iterator = items[Symbol.asyncIterator]();
    let isWaiting = true;
    try {
      for (;;) {
        isWaiting = true;
        const result = await this.wait(() => iterator.next());
        isWaiting = false;
        if (result.done === true) return;
        yield result.value;
      }
    } finally {
      // An iterator that was given up on never comes back.
      if (!isWaiting) await iterator.return?.();
    }
  }
}

/** Resolves or rejects as `work` does, and rejects when its time is over. */
export async function unlessStopped<T>(
  stop: AbortSignal,
  work: Promise<T>,
  limits: WaitLimits = READING,
): Promise<T> {
  const end = endOf(stop, limits);
  try {
    return await Promise.race([work, end.reached]);
  } finally {
    end.over();
  }
}

/** Looks after a session while it is silent. */
class Watch {
  readonly #session: Session;
  readonly #patience: Patience;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;
  /** When the session was last known not to wait for a lock. */
  #unlocked = performance.now();
  /** Of the lock that the session waits for, in words; empty where it is not known to wait for one. */
  holders = "";

  constructor(session: Session, patience: Patience) {
    this.#session = session;
    this.#patience = patience;
  }

  /** Rejects when no answer is to be expected any more. */
  givesUp(): Promise<never> {
    return new Promise((_, reject) => this.#listen(reject, this.#session.received(), 0));
  }

  over(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  #listen(giveUp: (error: Error) => void, before: number, doubts: number): void {
    this.#timer = setTimeout(async () => {
      const received = this.#session.received();
      if (received !== before) return this.#listenAgain(giveUp, received);
      const finding = await this.#session.look(this.#patience.lookMs);
      if (this.#isOver) return;
      const since = this.#session.received();
      if (since !== received) return this.#listenAgain(giveUp, since);
      const error = this.#judge(finding, doubts);
      if (error) giveUp(error);
      else this.#listen(giveUp, received, isDoubt(finding) ? doubts + 1 : 0);
    }, this.#patience.silenceMs);
  }

  #listenAgain(giveUp: (error: Error) => void, received: number): void {
    this.#foundUnlocked();
    this.#listen(giveUp, received, 0);
  }

  #judge(finding: Finding, doubts: number): Error | undefined {
    switch (finding.kind) {
      case "at work":
        this.#foundUnlocked();
        return undefined;
      case "locked": {
        this.holders = finding.holders;
        const waited = performance.now() - this.#unlocked;
        if (waited < this.#patience.lockMs) return undefined;
        return new LockWait(`waited ${seconds(waited)} for a lock; ${finding.holders}`);
      }
      case "lost":
      case "silent":
        return doubts + 1 < MOST_DOUBTS ? undefined : new Error(finding.why);
      default:
        return finding satisfies never;
    }
  }

  #foundUnlocked(): void {
    this.#unlocked = performance.now();
    this.holders = "";
  }
}

const isDoubt = ({ kind }: Finding): boolean => kind === "lost" || kind === "silent";

const isOver = (stop: AbortSignal, { afterStopMs }: WaitLimits): boolean => stop.aborted && afterStopMs === 0;

/** `reached` rejects at the end of the time that an answer has. */
function endOf(stop: AbortSignal, limits: WaitLimits): { readonly reached: Promise<never>; over(): void } {
  let timer: NodeJS.Timeout | undefined;
  let onStop = (): void => {};
  const reached = new Promise<never>((_, reject) => {
    const rejectAfter = (ms: number, error: () => Error): void => {
      clearTimeout(timer);
      if (ms !== Number.POSITIVE_INFINITY) timer = setTimeout(() => reject(error()), ms);
    };
    const noAnswer = (ms: number) => (): Error =>
      new NoAnswer(`the database has not answered for ${seconds(ms)}`);
    onStop = () => {
      if (isOver(stop, limits)) return reject(interrupted());
      const ms = Math.min(limits.afterStopMs, limits.answerMs);
      rejectAfter(ms, limits.isRead ? interrupted : noAnswer(ms));
    };
    if (stop.aborted) onStop();
    else rejectAfter(limits.answerMs, noAnswer(limits.answerMs));
  });
  stop.addEventListener("abort", onStop, { once: true });
  return {
    reached,
    over: () => {
      clearTimeout(timer);
      stop.removeEventListener("abort", onStop);
    },
  };
}

const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`;

/** What a look that failed says of the server. `hasAnswered`: the error is the server's own. */
export const lookFailed = (error: unknown, hasAnswered: boolean): Finding =>
  hasAnswered
    ? { kind: "at work" }
    : {
        kind: "silent",
        why: `the database has fallen silent, and doesn't answer another connection either: ${describe(error)}`,
      };
