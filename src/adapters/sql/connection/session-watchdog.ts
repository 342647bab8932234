import { setMaxListeners } from "node:events";
import { describe, interrupted } from "../../../core/failure/sync-error.ts";
import {
  endsAtOnce,
  inSeconds,
  LONG_READ,
  NoAnswer,
  type SessionTimeouts,
  type WaitLimits,
  withinLimits,
} from "./wait-limits.ts";

/** What an inspection over another connection found out about a session. */
export type SessionState =
  /**
   * The server works for the session, or nobody can tell: a slow answer must not be taken for a lost one. `waits`: what it
   * waits for, in words.
   */
  | { readonly kind: "at work"; readonly waits?: string }
  | { readonly kind: "locked"; readonly holders: string }
  /** The server doesn't work for the session, and so no answer will come; `why` in words. */
  | { readonly kind: "lost"; readonly why: string }
  /** The server doesn't answer the other connection either. */
  | { readonly kind: "silent"; readonly why: string };

/** One session in a database, as its watchdog needs it. */
export interface WatchedSession {
  /** How many bytes have come from the server so far. */
  received(): number;
  /** Asks the server over another connection what this session is doing, for `inspectMs` at most. Never rejects. */
  inspect(inspectMs: number): Promise<SessionState>;
  /** Ends the connection at once, and cancels the session's statement on the server. */
  cut(): void;
  isLockTimeout(error: unknown): boolean;
}

/**
 * A session counts as lost or silent only if two inspections in a row say so: the answer may arrive during the first.
 */
const MOST_DOUBTS = 2;

/** Another session has held a lock for longer than this one waits. */
export class LockWait extends Error {}

/**
 * Waits for a session's answers, and never without a limit. Silence alone doesn't tell a lost session from a slow one:
 * the watchdog asks over another connection which of them it is, and who holds the lock that the session waits for.
 */
export class SessionWatchdog {
  readonly #session: WatchedSession;
  readonly #timeouts: SessionTimeouts;
  readonly #stop: AbortSignal;

  constructor(session: WatchedSession, timeouts: SessionTimeouts, stop: AbortSignal) {
    this.#session = session;
    this.#timeouts = timeouts;
    this.#stop = stop;
    // Many sessions listen to this signal. By default Node.js warns at the eleventh listener.
    setMaxListeners(0, stop);
  }

  /**
   * Rejects as the answer does. Cuts the session off and rejects if no answer can be expected any more. The error of a
   * wait for a lock names the lock's holders.
   */
  async wait<T>(ask: () => Promise<T>, limits: WaitLimits = LONG_READ): Promise<T> {
    if (endsAtOnce(this.#stop, limits)) throw interrupted();
    const watch = new SilenceWatch(this.#session, { ...this.#timeouts, ...limits });
    const answered = ask().then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    let outcome: { value: T } | { error: unknown };
    try {
      outcome = await withinLimits(this.#stop, Promise.race([answered, watch.givesUp()]), limits);
    } catch (error) {
      this.#session.cut();
      if (!(error instanceof NoAnswer)) throw error;
      if (watch.holders !== "") throw new LockWait(`${error.message}; ${watch.holders}`);
      if (watch.waits !== "") error.message += `: ${watch.waits}`;
      throw error;
    } finally {
      watch.end();
    }
    if ("value" in outcome) return outcome.value;
    const { error } = outcome;
    if (watch.holders !== "" && this.#session.isLockTimeout(error) && error instanceof Error) {
      error.message += `; ${watch.holders}`;
    }
    throw error;
  }

  /** Waits for each item as for a long read. */
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
      // After a wait that failed, `return` would wait for the same lost answer.
      if (!isWaiting) await iterator.return?.();
    }
  }
}

/** Inspects a session each time that it has been silent for a while. */
class SilenceWatch {
  readonly #session: WatchedSession;
  readonly #timeouts: SessionTimeouts;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;
  /** When the session was last known not to wait for a lock. */
  #unlocked = performance.now();
  /** Who holds the lock that the session waits for, in words; empty if it isn't known to wait for one. */
  holders = "";
  /** What else the server was last seen to wait for, in words. */
  waits = "";

  constructor(session: WatchedSession, timeouts: SessionTimeouts) {
    this.#session = session;
    this.#timeouts = timeouts;
  }

  /** Rejects when no answer can be expected any more. */
  givesUp(): Promise<never> {
    return new Promise((_, reject) => this.#listen(reject, this.#session.received(), 0));
  }

  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  /** `doubts` counts the inspections in a row that found the session lost or silent. */
  #listen(giveUp: (error: Error) => void, before: number, doubts: number): void {
    this.#timer = setTimeout(async () => {
      const received = this.#session.received();
      if (received !== before) return this.#listenAgain(giveUp, received);
      const state = await this.#session.inspect(this.#timeouts.inspectMs);
      if (this.#isOver) return;
      const since = this.#session.received();
      if (since !== received) return this.#listenAgain(giveUp, since);
      const error = this.#errorFor(state, doubts);
      if (error) giveUp(error);
      else this.#listen(giveUp, received, isDoubt(state) ? doubts + 1 : 0);
    }, this.#timeouts.silenceMs);
  }

  #listenAgain(giveUp: (error: Error) => void, received: number): void {
    this.#foundUnlocked();
    this.#listen(giveUp, received, 0);
  }

  #errorFor(state: SessionState, doubts: number): Error | undefined {
    switch (state.kind) {
      case "at work":
        this.#foundUnlocked();
        this.waits = state.waits ?? "";
        return undefined;
      case "locked": {
        this.holders = state.holders;
        const waited = performance.now() - this.#unlocked;
        if (waited < this.#timeouts.lockMs) return undefined;
        return new LockWait(`waited ${inSeconds(waited)} for a lock; ${state.holders}`);
      }
      case "lost":
      case "silent":
        return doubts + 1 < MOST_DOUBTS ? undefined : new Error(state.why);
      default:
        return state satisfies never;
    }
  }

  #foundUnlocked(): void {
    this.#unlocked = performance.now();
    this.holders = "";
  }
}

const isDoubt = ({ kind }: SessionState): boolean => kind === "lost" || kind === "silent";

/** The state after an inspection that failed. `hasAnswered`: the error came from the server itself. */
export const inspectionFailed = (error: unknown, hasAnswered: boolean): SessionState =>
  hasAnswered
    ? { kind: "at work" }
    : {
        kind: "silent",
        why: `the database has fallen silent, and doesn't answer another connection either: ${describe(error)}`,
      };
