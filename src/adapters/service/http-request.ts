import type { Socket } from "node:net";
import type { Dispatcher } from "undici";
import buildConnector from "undici/lib/core/connect.js";
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
export function sendRequest(
  dispatcher: Dispatcher,
  { options, timeoutMs, beforeSend }: HttpRequest,
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const collector = new AnswerCollector(options.method, beforeSend, resolve, reject, () =>
      clearTimeout(timer),
    );
    const timer = setTimeout(() => {
      collector.giveUp(
        new ServiceFailure("TIMEOUT", `${options.method} was not answered within ${timeoutMs} ms`),
      );
    }, timeoutMs);
    dispatcher.dispatch(options, collector);
  });
}

class AnswerCollector implements Dispatcher.DispatchHandler {
  readonly #method: string;
  readonly #beforeSend: (() => void) | undefined;
  readonly #resolve: (answer: HttpAnswer) => void;
  readonly #reject: (error: Error) => void;
  readonly #onEnd: () => void;
  #controller: Dispatcher.DispatchController | undefined;
  #givenUp: Error | undefined;
  #status = 0;
  #headers: HttpAnswer["headers"] = {};
  #body = Buffer.alloc(0);
  #size = 0;

  constructor(
    method: string,
    beforeSend: (() => void) | undefined,
    resolve: (answer: HttpAnswer) => void,
    reject: (error: Error) => void,
    onEnd: () => void,
  ) {
    this.#method = method;
    this.#beforeSend = beforeSend;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#onEnd = onEnd;
  }

  /** Aborts the request. A request that still waits for a connection is never sent. */
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
    this.#onEnd();
    const body = this.#body.toString("utf8", 0, this.#size);
    this.#resolve({ status: this.#status, headers: this.#headers, body });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#fail(this.#givenUp ?? new ConnectionFailure(error, this.#controller !== undefined));
  }

  #fail(error: Error): void {
    this.#onEnd();
    this.#reject(error);
  }
}

/** In bytes. A longer head goes to undici, which has its own limit. */
const LONGEST_HEAD = 16 * 1024;
/** Without 101, which ends HTTP on this connection. */
const INTERIM = /^HTTP\/1\.[01] 1(?!01)\d\d[ \r]/;
/** As many characters of an answer as show whether it is an interim response. */
const SHAPE = "HTTP/1.x 1xx ";
const END_OF_HEAD = "\r\n\r\n";
const NOTHING = Buffer.alloc(0);

/**
 * Connects as undici does, and hides interim responses, such as `100 Continue`, that a server sends before the final
 * one. A client has to accept them even if it didn't ask for them (RFC 9110, 15.2), but undici takes a 100 for a broken
 * answer and closes the connection.
 */
export function connectorHidingInterimResponses(
  options: buildConnector.BuildOptions,
): buildConnector.connector {
  const connect = buildConnector(options);
  return (target, callback) => {
    connect(target, (...result) => {
      if (result[0] === null) hideInterim(result[1]);
      callback(...result);
    });
  };
}

/** Requests are not pipelined: the first bytes after a request is written are the start of its answer. */
function hideInterim(socket: Socket): void {
  const filter = new InterimFilter();
  const { write, read } = socket;
  socket.write = ((...args: Parameters<typeof write>) => {
    filter.answerIsNext();
    return write.apply(socket, args);
  }) as typeof write;
  socket.read = (size?: number) => {
    for (;;) {
      const chunk: Buffer | null = read.call(socket, size);
      const rest = chunk && filter.take(chunk);
      if (chunk === null || rest !== null) return rest;
    }
  };
}

/** Removes interim responses from the bytes of a connection, however they are cut into chunks. */
class InterimFilter {
  #isAtStart = true;
  #held: Buffer = NOTHING;

  /** A request was written. */
  answerIsNext(): void {
    this.#isAtStart = true;
  }

  /** The chunk's part of a final answer. Null if it has none, or if only more bytes can tell. */
  take(chunk: Buffer): Buffer | null {
    if (!this.#isAtStart) return chunk;
    let bytes: Buffer = this.#held === NOTHING ? chunk : Buffer.concat([this.#held, chunk]);
    this.#held = NOTHING;
    for (;;) {
      const isInterim = isInterimHead(bytes.toString("latin1", 0, SHAPE.length));
      const end = isInterim ? bytes.indexOf(END_OF_HEAD) : -1;
      if (end !== -1) {
        bytes = bytes.subarray(end + END_OF_HEAD.length);
        if (bytes.length === 0) return null;
      } else if (isInterim && bytes.length < LONGEST_HEAD) {
        this.#held = bytes;
        return null;
      } else {
        this.#isAtStart = false;
        return bytes;
      }
    }
  }
}

/** A start that is cut short counts as interim while it can still become one. */
const isInterimHead = (start: string): boolean =>
  INTERIM.test(start + "HTTP/1.1 100 ".slice(start.length)) ||
  INTERIM.test(start + "HTTP/1.1 110 ".slice(start.length));
