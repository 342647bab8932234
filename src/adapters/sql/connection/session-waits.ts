import { setMaxListeners } from "node:events";
import type { Socket } from "node:net";
import { interrupted } from "../../../core/failure/sync-error.ts";
import type { Secret } from "../../../core/secret/secret.ts";
import {
  endsAtOnce,
  LONG_READ,
  NoAnswer,
  type SessionTimeouts,
  type WaitLimits,
  withinLimits,
} from "./wait-limits.ts";

export interface SessionOptions {
  readonly url: Secret;
  /** Shown in the server's list of sessions. */
  readonly applicationName: string;
  readonly timeouts: SessionTimeouts;
  /** Aborted when this process is told to stop. */
  readonly stop: AbortSignal;
}

/** A session at the server, as its waits need it. */
export interface WaitingSession {
  /** Undefined before the session has one. */
  socket(): Socket | undefined;
  /** Why the connection was lost; undefined if it is there. Later statements fail with errors that don't say why. */
  lost(): Error | undefined;
  /** Asks the server over another connection what this session waits for, in words. Empty if unknown. Never rejects. */
  waitsFor(): Promise<string>;
  cut(): void;
  isLockTimeout(error: unknown): boolean;
}

/**
 * Waits for a session's answers, and never without a limit. The server ends a wait for a lock. Its error doesn't name the
 * lock's holder, so another connection asks once, when half of that time is over.
 */
export class SessionWaits {
  readonly #session: WaitingSession;
  readonly #timeouts: SessionTimeouts;
  readonly #stop: AbortSignal;

  constructor(session: WaitingSession, { timeouts, stop }: Pick<SessionOptions, "timeouts" | "stop">) {
    this.#session = session;
    this.#timeouts = timeouts;
    this.#stop = stop;
    // Many sessions listen to this signal. By default Node.js warns at the eleventh listener.
    setMaxListeners(0, stop);
  }

  /** Ends the connection at once, and cancels the session's statement on the server. */
  cut(): void {
    this.#session.cut();
  }

  /**
   * Rejects as the answer does, or with the reason if the connection was lost. Once a limit is over, cuts the session off
   * and rejects.
   */
  async wait<T>(ask: () => Promise<T>, limits: WaitLimits = LONG_READ): Promise<T> {
    if (endsAtOnce(this.#stop, limits)) throw interrupted();
    let waitsFor = Promise.resolve("");
    const { lockMs, silenceMs } = { ...this.#timeouts, ...limits };
    const asking = setTimeout(() => {
      waitsFor = this.#session.waitsFor();
    }, lockMs / 2);
    let isAnswered = false;
    try {
      const answered = ask().finally(() => {
        isAnswered = true;
      });
      const socket = this.#session.socket();
      const heard = socket ? whileConnected(socket, answered, silenceMs) : answered;
      return await withinLimits(this.#stop, heard, limits);
    } catch (thrown) {
      // A connection that is cut off is lost too, but that is no reason.
      const error = thrown instanceof NoAnswer ? thrown : (this.#session.lost() ?? thrown);
      if (!isAnswered) this.cut();
      if (error instanceof NoAnswer || (error instanceof Error && this.#session.isLockTimeout(error))) {
        const known = await waitsFor;
        if (known !== "") error.message += `; ${known}`;
      }
      throw error;
    } finally {
      clearTimeout(asking);
    }
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

/**
 * Settles as `work` does. Rejects once the socket has received nothing for this long, or soon after it is closed: a driver
 * that has the last row, but not yet the word that its statement is over, tells nobody that the connection is lost. `work`
 * itself goes on.
 */
async function whileConnected<T>(socket: Socket, work: Promise<T>, ms: number): Promise<T> {
  let onSilence = (): void => {};
  let onClose = (): void => {};
  const isOver = new Promise<never>((_, reject) => {
    onSilence = () => reject(new NoAnswer(ms));
    // What has arrived before comes first, and so does the driver's own error.
    onClose = () => setImmediate(() => setImmediate(reject, new Error("the connection was closed")));
  });
  if (ms !== Number.POSITIVE_INFINITY) socket.setTimeout(ms, onSilence);
  socket.once("close", onClose);
  if (socket.closed) onClose();
  try {
    return await Promise.race([work, isOver]);
  } finally {
    socket.setTimeout(0, onSilence);
    socket.off("close", onClose);
  }
}
