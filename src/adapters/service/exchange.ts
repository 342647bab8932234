import type { Dispatcher } from "undici";
import { ServiceFailure } from "../../core/service-failure.ts";

export interface Exchange {
  readonly options: Dispatcher.DispatchOptions;
  /** From the start of the request to the last byte of the answer, in milliseconds. */
  readonly timeoutMs: number;
  /** Asked when the request would leave; what it throws is what the exchange rejects with. */
  readonly beforeSend: (() => void) | undefined;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** No answer that interface.md promises comes near this. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/** What undici says of an exchange that broke. */
export class BrokenExchange extends Error {
  /** The request had a connection by then: without one it can't have arrived. */
  readonly wasConnected: boolean;
  override readonly cause: Error;

  constructor(cause: Error, wasConnected: boolean) {
    super(cause.message);
    this.cause = cause;
    this.wasConnected = wasConnected;
  }
}

/**
 * Sends one request and gathers its answer. Answers are small and wanted whole, so nothing is streamed.
 * Rejects with a ServiceFailure for what went wrong by our own measure, with what `beforeSend` threw, and with a
 * BrokenExchange otherwise.
 */
export function exchange(
  dispatcher: Dispatcher,
  { options, timeoutMs, beforeSend }: Exchange,
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const gathering = new Gathering(options.method, beforeSend, resolve, reject, () => clearTimeout(timer));
    const timer = setTimeout(() => {
      gathering.giveUp(
        new ServiceFailure("TIMEOUT", `${options.method} was not answered within ${timeoutMs} ms`),
      );
    }, timeoutMs);
    dispatcher.dispatch(options, gathering);
  });
}

class Gathering implements Dispatcher.DispatchHandler {
  readonly #method: string;
  readonly #beforeSend: (() => void) | undefined;
  readonly #resolve: (answer: RawAnswer) => void;
  readonly #reject: (error: Error) => void;
  readonly #onEnd: () => void;
  #controller: Dispatcher.DispatchController | undefined;
  #givenUp: Error | undefined;
  #status = 0;
  #headers: RawAnswer["headers"] = {};
  #body = Buffer.alloc(0);
  #size = 0;

  constructor(
    method: string,
    beforeSend: (() => void) | undefined,
    resolve: (answer: RawAnswer) => void,
    reject: (error: Error) => void,
    onEnd: () => void,
  ) {
    this.#method = method;
    this.#beforeSend = beforeSend;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#onEnd = onEnd;
  }

  /** Ends the exchange. A request that still waits for a connection is then never sent. */
  giveUp(error: Error): void {
    this.#givenUp = error;
    this.#controller?.abort(error);
    this.#fail(error);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#givenUp) {
      controller.abort(this.#givenUp);
      return;
    }
    try {
      this.#beforeSend?.();
    } catch (error) {
      this.giveUp(error instanceof Error ? error : new Error(String(error)));
    }
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: RawAnswer["headers"]): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    const size = this.#size + chunk.length;
    if (size > MAX_ANSWER_BYTES) {
      const message = `${this.#method} was answered with more than ${MAX_ANSWER_BYTES} bytes`;
      this.giveUp(new ServiceFailure("BAD_RESPONSE", message));
      return;
    }
    // Copied: a buffer for each chunk costs a hundred times its size where the chunks are of one byte.
    if (size > this.#body.length) {
      this.#body = Buffer.concat([this.#body.subarray(0, this.#size)], Math.max(size, this.#size * 2));
    }
    this.#body.set(chunk, this.#size);
    this.#size = size;
  }

  onResponseEnd(): void {
    this.#onEnd();
    const body = this.#body.toString("utf8", 0, this.#size);
    this.#resolve({ status: this.#status, headers: this.#headers, body });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#fail(this.#givenUp ?? new BrokenExchange(error, this.#controller !== undefined));
  }

  #fail(error: Error): void {
    this.#onEnd();
    this.#reject(error);
  }
}
