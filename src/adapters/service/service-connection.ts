import errors from "undici/lib/core/errors.js";
import Pool from "undici/lib/dispatcher/pool.js";
import { ServiceFailure, type ServiceFailureCode } from "../../core/failure/service-failure.ts";
import { describe } from "../../core/failure/sync-error.ts";
import type { Secret } from "../../core/secret/secret.ts";
import type { JsonObject } from "../../core/text/json.ts";
import type { ServiceMethod } from "../../ports/group-service.ts";
import type { WireAnswer, WireRequest } from "./answer.ts";
import { ConnectionFailure, sendRequest } from "./http-request.ts";

export interface HttpServiceOptions {
  /** Requests go to `{baseUrl}/api/user`. */
  readonly baseUrl: string;
  readonly apiKey: Secret;
  /** For one request, from its start to the last byte of the answer, in milliseconds. */
  readonly timeoutMs: number;
  /** The most connections at a time. */
  readonly concurrency: number;
}

/** What a request carries beside its fields. */
interface SendOptions {
  readonly beforeSend?: (() => void) | undefined;
  /** Secrets in the fields: no message may repeat them. */
  readonly secrets?: readonly Secret[];
  /** In place of the connection's own key. */
  readonly apiKey?: Secret;
}

interface Exchange {
  readonly answer: WireAnswer;
  readonly request: WireRequest;
}

/** Requests to the service over HTTP/1.1, with connections that are kept open. */
export class ServiceConnection {
  readonly #pool: Pool;
  readonly #path: string;
  readonly #apiKey: Secret;
  readonly #timeoutMs: number;
  readonly #where: string;

  constructor({ baseUrl, apiKey, timeoutMs, concurrency }: HttpServiceOptions) {
    const url = new URL(baseUrl);
    // `timeoutMs` limits the whole request, so its phases need no limits.
    this.#pool = new Pool(url.origin, {
      connections: concurrency,
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: timeoutMs },
    });
    this.#path = `${url.pathname.replace(/\/$/, "")}/api/user`;
    this.#apiKey = apiKey;
    this.#timeoutMs = timeoutMs;
    this.#where = url.host;
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  /** Rejects with a ServiceFailure if no complete answer came, and with what `beforeSend` threw. */
  async send(
    method: ServiceMethod,
    id: string,
    fields: JsonObject,
    { beforeSend, secrets = [], apiKey = this.#apiKey }: SendOptions,
  ): Promise<Exchange> {
    const { status, headers, body } = await sendRequest(this.#pool, {
      timeoutMs: this.#timeoutMs,
      beforeSend,
      options: {
        method,
        path: this.#path,
        headers: { authorization: `Token ${apiKey.reveal()}`, "content-type": "application/json" },
        body: JSON.stringify(fields),
        // By default undici closes the connection after a GET or DELETE with a body.
        reset: false,
      },
    }).catch((error: unknown) => {
      throw error instanceof ConnectionFailure ? this.#failed(method, error) : error;
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
    const request = {
      method,
      id,
      receivedAt: new Date(),
      apiKey: this.#apiKey,
      secrets: [this.#apiKey, apiKey, ...secrets],
    };
    return { answer, request };
  }

  #failed(method: ServiceMethod, error: ConnectionFailure): ServiceFailure {
    const cause = error.cause instanceof AggregateError ? error.cause.errors[0] : error.cause;
    const code = codeOf(error);
    const message = `${method} to ${this.#where}: ${reasonOf(cause)}`;
    // No cause here: the parser's error holds the bytes that it could not read, and a token may be among them.
    return new ServiceFailure(code, message, code === "BAD_RESPONSE" ? {} : { cause });
  }
}

function codeOf({ cause, wasConnected }: ConnectionFailure): ServiceFailureCode {
  const isAnswer =
    cause instanceof errors.HTTPParserError ||
    cause instanceof errors.HeadersOverflowError ||
    isUnaskedFor(cause) ||
    isImpossible(cause);
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
