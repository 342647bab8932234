// The whole of undici, with its fetch, caches and mocks, takes as long to load as Node.js itself to start.
import errors from "undici/lib/core/errors.js";
import Pool from "undici/lib/dispatcher/pool.js";
import { describe } from "../../core/errors.ts";
import type { Group } from "../../core/group.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Secret } from "../../core/secret.ts";
import { ServiceFailure, type ServiceFailureCode } from "../../core/service-failure.ts";
import type { GroupService, RemovableGroup, ServiceGroup } from "../../ports/group-service.ts";
import { BrokenExchange, exchange } from "./exchange.ts";
import { connectorWithoutInterim } from "./interim-answers.ts";
import {
  type Operation,
  readDeleteAnswer,
  readGetAnswer,
  readPostAnswer,
  type WireAnswer,
  type WireRequest,
} from "./wire.ts";

export interface HttpServiceOptions {
  /** Requests go to `{baseUrl}/api/user`. */
  readonly baseUrl: string;
  readonly apiKey: Secret;
  /** For one request, from its start to the last byte of the answer, in milliseconds. */
  readonly timeoutMs: number;
  /** Most connections. */
  readonly concurrency: number;
}

/** The service over HTTP/1.1 with connections that are kept. */
export class HttpGroupService implements GroupService {
  readonly #pool: Pool;
  readonly #path: string;
  readonly #apiKey: Secret;
  readonly #timeoutMs: number;
  readonly #where: string;

  constructor({ baseUrl, apiKey, timeoutMs, concurrency }: HttpServiceOptions) {
    const url = new URL(baseUrl);
    // The whole request has one time limit of its own: the phases need none.
    this.#pool = new Pool(url.origin, {
      connections: concurrency,
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: connectorWithoutInterim({ timeout: timeoutMs }),
    });
    this.#path = `${url.pathname.replace(/\/$/, "")}/api/user`;
    this.#apiKey = apiKey;
    this.#timeoutMs = timeoutMs;
    this.#where = url.host;
  }

  async getOrCreate(group: Group, beforeSend?: () => void): ReturnType<GroupService["getOrCreate"]> {
    const { answer, request } = await this.#send("GET", group.user_group_id, { ...group }, { beforeSend });
    return readGetAnswer(answer, request);
  }

  async rotate(id: string, currentToken: Secret, beforeSend?: () => void): Promise<ServiceGroup> {
    const fields = { current_token: currentToken.reveal() };
    const { answer, request } = await this.#send("POST", id, fields, { beforeSend, secrets: [currentToken] });
    return readPostAnswer(answer, request);
  }

  async remove(
    { user_group_id, token, dataSourceId }: RemovableGroup,
    beforeSend?: () => void,
  ): Promise<void> {
    const fields = {
      current_token: token.reveal(),
      user_group_id,
      ...(dataSourceId === null ? {} : { data_source_provided_id: dataSourceId }),
    };
    const options = { beforeSend, secrets: [token] };
    const { answer, request } = await this.#send("DELETE", user_group_id, fields, options);
    readDeleteAnswer(answer, request);
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  async #send(
    operation: Operation,
    id: string,
    fields: JsonObject,
    { beforeSend, secrets = [] }: { beforeSend?: (() => void) | undefined; secrets?: readonly Secret[] },
  ): Promise<{ readonly answer: WireAnswer; readonly request: WireRequest }> {
    try {
      const { status, headers, body } = await exchange(this.#pool, {
        timeoutMs: this.#timeoutMs,
        beforeSend,
        options: {
          method: operation,
          path: this.#path,
          headers: { authorization: `Token ${this.#apiKey.reveal()}`, "content-type": "application/json" },
          body: JSON.stringify(fields),
          // Without it undici closes the connection after every GET and DELETE that has a body.
          reset: false,
        },
      });
      const answer = {
        status,
        contentType: String(headers["content-type"] ?? ""),
        contentEncoding: headers["content-encoding"]?.toString(),
        date: headers.date?.toString(),
        retryAfter: headers["retry-after"]?.toString(),
        location: headers.location?.toString(),
        body,
      };
      const request = { operation, id, receivedAt: new Date(), secrets: [this.#apiKey, ...secrets] };
      return { answer, request };
    } catch (error) {
      if (!(error instanceof BrokenExchange)) throw error;
      const cause = error.cause instanceof AggregateError ? error.cause.errors[0] : error.cause;
      const code = connectionFailure(error);
      const reason = isAgainstHttp(cause) ? "the answer breaks the rules of HTTP" : describe(cause);
      const message = `${operation} to ${this.#where}: ${reason}`;
      // The parser's error holds the bytes that it could not read, and a token may be among them.
      throw new ServiceFailure(code, message, code === "BAD_RESPONSE" ? {} : { cause });
    }
  }
}

function connectionFailure({ cause, wasConnected }: BrokenExchange): ServiceFailureCode {
  const isAnswer =
    cause instanceof errors.HTTPParserError ||
    cause instanceof errors.HeadersOverflowError ||
    isAgainstHttp(cause);
  if (isAnswer) return "BAD_RESPONSE";
  return wasConnected ? "CONNECTION_LOST" : "UNREACHABLE";
}

/**
 * What undici takes for impossible, such as a status of 0, fails in an assert; an answer that is none, such as a status of
 * 101 that nobody asked for, it calls a bad response or a bad upgrade.
 */
const isAgainstHttp = (error: unknown): boolean =>
  error instanceof errors.SocketError
    ? /^bad (response|upgrade)$/.test(error.message)
    : error instanceof Error && "code" in error && error.code === "ERR_ASSERTION";
