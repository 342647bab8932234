import type { Socket } from "node:net";
import buildConnector from "undici/lib/core/connect.js";

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
