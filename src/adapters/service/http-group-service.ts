import { randomBytes } from "node:crypto";
import Pool from "undici/lib/dispatcher/pool.js";
import type { Group } from "../../core/group/group.ts";
import { Secret } from "../../core/secret/secret.ts";
import type { JsonObject } from "../../core/text/json.ts";
import type { GroupService, RemovableGroup, ServiceGroup, ServiceMethod } from "../../ports/group-service.ts";
import {
  readGetAnswer,
  readPostAnswer,
  successfulBody,
  type WireAnswer,
  type WireRequest,
} from "./answer.ts";
import { sendRequest } from "./http-request.ts";

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

/** The service over HTTP/1.1, with connections that are kept open. */
export class HttpGroupService implements GroupService {
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

  async getOrCreate(group: Group, beforeSend?: () => void): ReturnType<GroupService["getOrCreate"]> {
    const { user_group_id: id } = group;
    const { answer, request } = await this.#send("GET", id, { ...group }, { beforeSend });
    return readGetAnswer(answer, request);
  }

  async rotate(id: string, currentToken: Secret, beforeSend?: () => void): Promise<ServiceGroup> {
    const fields = { current_token: currentToken.reveal() };
    const { answer, request } = await this.#send("POST", id, fields, {
      beforeSend,
      secrets: [currentToken],
    });
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
    successfulBody(answer, request);
  }

  async getWithWrongKey(beforeSend?: () => void): Promise<void> {
    // Without an id, because something in between might put a good key in place of the wrong one.
    const { answer, request } = await this.#send(
      "GET",
      "",
      { check: "groupsync" },
      { beforeSend, apiKey: randomSecret() },
    );
    successfulBody(answer, request);
  }

  async rotateNobody(beforeSend?: () => void): Promise<void> {
    const token = randomSecret();
    const fields = { current_token: token.reveal() };
    const { answer, request } = await this.#send("POST", "", fields, {
      beforeSend,
      secrets: [token],
    });
    successfulBody(answer, request);
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  /** Rejects with a ServiceFailure if no complete answer came, and with what `beforeSend` threw. */
  async #send(
    method: ServiceMethod,
    id: string,
    fields: JsonObject,
    { beforeSend, secrets = [], apiKey = this.#apiKey }: SendOptions,
  ): Promise<Exchange> {
    const { status, headers, body } = await sendRequest(this.#pool, {
      where: this.#where,
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
}

/** As long as a real token, and no group's. */
const randomSecret = (): Secret => new Secret(`groupsync-check-${randomBytes(32).toString("base64url")}`);
