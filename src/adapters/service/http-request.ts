import type { Dispatcher } from "undici";
import errors from "undici/lib/core/errors.js";
import { ServiceFailure, type ServiceFailureCode } from "../../core/failure/service-failure.ts";
import { describe } from "../../core/failure/sync-error.ts";

interface HttpRequest {
  /** Where the request goes, for people. */
  readonly where: string;
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

/**
 * Sends one request and collects its whole answer. Rejects with a ServiceFailure if no complete answer came, and with what
 * `beforeSend` threw.
 */
export async function sendRequest(dispatcher: Dispatcher, request: HttpRequest): Promise<HttpAnswer> {
  const collector = new AnswerCollector(request);
  const { method } = request.options;
  const timer = setTimeout(() => {
    const message = `${method} was not answered within ${request.timeoutMs} ms`;
    collector.giveUp(new ServiceFailure("TIMEOUT", message));
  }, request.timeoutMs);
  try {
    dispatcher.dispatch(request.options, collector);
    return await collector.answer;
  } finally {
    clearTimeout(timer);
  }
}

class AnswerCollector implements Dispatcher.DispatchHandler {
  readonly #request: HttpRequest;
  readonly answer: Promise<HttpAnswer>;
  #resolve: (answer: HttpAnswer) => void = () => {};
  #reject: (error: Error) => void = () => {};
  #controller: Dispatcher.DispatchController | undefined;
  #givenUp: Error | undefined;
  #status = 0;
  #headers: HttpAnswer["headers"] = {};
  #body = Buffer.alloc(0);
  #size = 0;

  constructor(request: HttpRequest) {
    this.#request = request;
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
      this.#request.beforeSend?.();
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
      const message = `${this.#request.options.method} was answered with more than ${MAX_ANSWER_BYTES} bytes`;
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
    this.#reject(this.#givenUp ?? this.#failed(error));
  }

  #failed(error: Error): ServiceFailure {
    const { where, options } = this.#request;
    const cause = error instanceof AggregateError ? error.errors[0] : error;
    const code = codeOf(error, this.#controller !== undefined);
    const message = `${options.method} to ${where}: ${reasonOf(cause)}`;
    // No cause here: the parser's error holds the bytes that it could not read, and a token may be among them.
    return new ServiceFailure(code, message, code === "BAD_RESPONSE" ? {} : { cause });
  }
}

/** Without a connection the service can't have received the request. */
function codeOf(error: Error, wasConnected: boolean): ServiceFailureCode {
  const isAnswer =
    error instanceof errors.HTTPParserError ||
    error instanceof errors.HeadersOverflowError ||
    isUnaskedFor(error) ||
    isImpossible(error);
  if (isAnswer) return "BAD_RESPONSE";
  return wasConnected ? "CONNECTION_LOST" : "UNREACHABLE";
}

function reasonOf(cause: unknown): string {
  if (isUnaskedFor(cause)) return "a response of HTTP 100 or 101 came, which was not asked for";
  if (isImpossible(cause)) return "the answer breaks the rules of HTTP";
  return describe(cause);
}

/** undici closes the connection after a 100 or a 101 that it didn't ask for, with these words. */
const isUnaskedFor = (error: unknown): boolean =>
  error instanceof errors.SocketError && /^bad (response|upgrade)$/.test(error.message);

/** For an impossible answer, such as status 0, undici fails an assertion. */
const isImpossible = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ERR_ASSERTION";
