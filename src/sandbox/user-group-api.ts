import { randomBytes } from "node:crypto";
import type { Json } from "../core/json.ts";
import type { Fault } from "./faults.ts";
import {
  decide,
  type Groups,
  groupIdOf,
  type HeldGroup,
  OPERATIONS,
  type Operation,
  type Outcome,
} from "./groups.ts";
import { fixedWindow, type Limiter, Places, retryAfterValue, tokenBucket } from "./rate-limit.ts";
import { type Answer, type Headers, htmlAnswer, jsonAnswer, type Reply } from "./reply.ts";
import type { ApiOptions } from "./service-options.ts";
import type { Journal } from "./state-file.ts";
import type { Tally } from "./tally.ts";

export interface ApiRequest {
  readonly method: string;
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  readonly body: RequestBody;
}

export type RequestBody =
  | { readonly kind: "json"; readonly value: Json }
  | { readonly kind: "malformed" | "too-large" };

const ALLOWED = OPERATIONS.join(", ");

/** `/api/user` of the service: from a request to what is to be sent back, with the change written down between. */
export class UserGroupApi {
  readonly #options: ApiOptions;
  readonly #groups: Groups;
  readonly #journal: Journal | undefined;
  readonly #tally: Pick<Tally, "deleted">;
  readonly #limiters: readonly Limiter[];
  readonly #places: Places;

  constructor(
    options: ApiOptions,
    groups: Groups,
    journal: Journal | undefined,
    tally: Pick<Tally, "deleted">,
  ) {
    this.#options = options;
    this.#groups = groups;
    this.#journal = journal;
    this.#tally = tally;
    this.#limiters = [
      ...(options.rateLimit ? [fixedWindow(options.rateLimit)] : []),
      ...(options.tokenBucket ? [tokenBucket(options.tokenBucket)] : []),
    ];
    this.#places = new Places(options.concurrencyLimit ?? Number.POSITIVE_INFINITY);
  }

  /** The id of the group that a request's body speaks of, if it does. */
  groupIn(body: RequestBody): string | undefined {
    return body.kind === "json" ? groupIdOf(this.#groups, body.value) : undefined;
  }

  /**
   * A request arrives that is meant to come to this end. It is in until `leave`; where there are too many already the
   * refusal is returned, which names no time to come back at, for nobody knows one.
   */
  enter(fault: Fault): Answer | undefined {
    if (isFromOutside(fault) || this.#places.take()) return undefined;
    return jsonAnswer(429, { success: 0, error: "too many requests at once" });
  }

  /** A request that was let in is gone. */
  leave(fault: Fault): void {
    if (!isFromOutside(fault)) this.#places.free();
  }

  /** `now` in milliseconds since the epoch. Throws what the journal throws; then nothing has changed. */
  reply(request: ApiRequest, fault: Fault, now: number): Reply {
    if (fault === "cut-before") return { kind: "cut" };
    if (fault === "html") return htmlAnswer(this.#options.htmlStatus);
    for (const limiter of this.#limiters) {
      const wait = limiter(now);
      if (wait > 0) return this.#tooManyRequests(wait, now);
    }
    if (fault === "fail") return jsonAnswer(500, { success: 0, error: "internal error" });
    const answer = this.#serve(request);
    return fault === "cut-after" ? { kind: "cut" } : answer;
  }

  #serve(request: ApiRequest): Reply {
    if (!carriesKey(request.authorization, this.#options.apiKey)) {
      return this.#failed(
        401,
        "the Authorization header is not 'Token <API_KEY>' with a key of this service",
      );
    }
    const operation = OPERATIONS.find((name) => name === request.method);
    if (!operation) return this.#failed(405, `${request.method} is none of ${ALLOWED}`, { allow: ALLOWED });
    if (!/^application\/json\s*(;|$)/i.test(request.contentType ?? "")) {
      return this.#failed(415, "the Content-Type header is not application/json");
    }
    switch (request.body.kind) {
      case "too-large":
        return this.#failed(413, "the body is too large");
      case "malformed":
        return this.#failed(400, "the body is not JSON");
      case "json":
        return this.#carryOut(operation, request.body.value);
      default:
        return request.body satisfies never;
    }
  }

  #carryOut(operation: Operation, body: Json): Reply {
    const id = groupIdOf(this.#groups, body);
    const poison = id === undefined ? undefined : this.#options.poison.get(id);
    switch (poison) {
      case "500":
        return jsonAnswer(500, { success: 0, error: "internal error" });
      case "success0":
        return jsonAnswer(200, { success: 0 });
      case "hang":
        return { kind: "hang" };
      case "html":
        return htmlAnswer(this.#options.htmlStatus);
      case "missing-field":
      case undefined:
        break;
      default:
        return poison satisfies never;
    }
    const outcome = decide(this.#groups, this.#options, operation, body, newToken);
    if (outcome.kind === "refused") return this.#failed(outcome.status, outcome.reason);
    if (outcome.change) {
      this.#journal?.append(outcome.change);
      this.#groups.apply(outcome.change);
    }
    if (outcome.kind === "deleted") this.#tally.deleted(outcome.deletion);
    return jsonAnswer(200, this.#success(outcome, poison === "missing-field"));
  }

  #success(outcome: Exclude<Outcome, { kind: "refused" }>, withoutField: boolean): Json {
    const extra = this.#options.extraFields ? { api_environment_tag: "sandbox" } : {};
    if (outcome.kind === "deleted") return withoutField ? extra : { success: 1, ...extra };
    return {
      success: 1,
      ...(outcome.kind === "rotated" ? {} : { new_user_group: outcome.kind === "created" }),
      user_group: this.#record(outcome.group, withoutField),
      ...extra,
    };
  }

  #record({ token, name, user_group_id }: HeldGroup, withoutToken: boolean): Json {
    return {
      team_id: this.#options.teamId,
      ...(withoutToken ? {} : { token }),
      name,
      provided_id: user_group_id,
      ...(this.#options.extraFields ? { is_demo_group: false, properties: null } : {}),
    };
  }

  #failed(status: number, error: string, headers: Headers = {}): Reply {
    return jsonAnswer(this.#options.errors === "body" ? 200 : status, { success: 0, error }, headers);
  }

  #tooManyRequests(wait: number, now: number): Reply {
    const value = retryAfterValue(this.#options.retryAfter, wait, now);
    return jsonAnswer(
      429,
      { success: 0, error: "too many requests" },
      value === undefined ? {} : { "retry-after": value },
    );
  }
}

/** The service never sees the request. */
const isFromOutside = (fault: Fault): boolean => fault === "cut-before" || fault === "html";

export const carriesKey = (authorization: string | undefined, apiKey: string): boolean =>
  authorization === `Token ${apiKey}`;

/** 40 characters, base64url. */
const newToken = (): string => randomBytes(30).toString("base64url");
