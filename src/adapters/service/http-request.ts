import type { Dispatcher } from "undici";
import { ServiceFailure } from "../../core/failure/service-failure.ts";

interface HttpRequest {
  readonly options: Dispatcher.DispatchOptions;
  /** From the start of the request to the last byte of the answer, in milliseconds. */
  readonly timeoutMs: number;
  /**
   * Called when the request is about to leave. If it throws, nothing is sent, and the request rejects with that error.
   */
  readonly beforeSend: (() => void) | undefined;
}

interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** Far more than any answer in interface.md. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/** The request failed without a complete answer. The cause is undici's error. */
export class ConnectionFailure extends Error {
  /** Whether the request had a connection. Without a connection the service can't have received it. */
  readonly wasConnected: boolean;
  override readonly cause: Error;

  constructor(cause: Error, wasConnected: boolean) {
    super(cause.message);
    this.cause = cause;
    this.wasConnected = wasConnected;
  }
}

/**
 * Sends one request and collects its whole answer. Rejects with a ServiceFailure if the answer is late or too large,
 * with what `beforeSend` threw, or with a {@link ConnectionFailure}.
 */
export async function sendRequest(
  dispatcher: Dispatcher,
  { options, timeoutMs, beforeSend }: HttpRequest,
): Promise<HttpAnswer> {
  const collector = new AnswerCollector(options.method, beforeSend);
  const timer = setTimeout(() => {
    collector.giveUp(
      new ServiceFailure("TIMEOUT", `${options.method} was not answered within ${timeoutMs} ms`),
    );
  }, timeoutMs);
  try {
    dispatcher.dispatch(options, collector);
    return await collector.answer;
  } finally {
    clearTimeout(timer);
  }
}

class AnswerCollector implements Dispatcher.DispatchHandler {
  readonly #method: string;
  readonly #beforeSend: (() => void) | undefined;
  readonly answer: Promise<HttpAnswer>;
  #resolve: (answer: HttpAnswer) => void = () => {};
  #reject: (error: Error) => void = () => {};
  #controller: Dispatcher.DispatchController | undefined;
  #givenUp: Error | undefined;
  #status = 0;
  #headers: HttpAnswer["headers"] = {};
  #body = Buffer.alloc(0);
  #size = 0;

  constructor(method: string, beforeSend: (() => void) | undefined) {
    this.#method = method;
    this.#beforeSend = beforeSend;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Aborts the request. A request that still waits for a connection is never sent. */
  giveUp(error: Error): void {
    this.#givenUp = error;
    this.#controller?.abort(error);
    this.#reject(error);
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

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: HttpAnswer["headers"]): void {
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
    // Copy each chunk: if chunks have one byte, keeping a Buffer for each costs a hundred times their size.
    if (size > this.#body.length) {
      this.#body = Buffer.concat([this.#body.subarray(0, this.#size)], Math.max(size, this.#size * 2));
    }
    this.#body.set(chunk, this.#size);
    this.#size = size;
  }

  onResponseEnd(): void {
    const body = this.#body.toString("utf8", 0, this.#size);
    this.#resolve({ status: this.#status, headers: this.#headers, body });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#reject(this.#givenUp ?? new ConnectionFailure(error, this.#controller !== undefined));
  }
}
