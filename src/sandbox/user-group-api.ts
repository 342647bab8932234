import { randomBytes } from "node:crypto";
import { STATUS_CODES } from "node:http";
import { type Limiter, type RateLimit, tokenBucket } from "../core/limits/rate-limit.ts";
import type { Json } from "../core/text/json.ts";
import {
  API_METHODS,
  type ApiMethod,
  type CallResult,
  type Groups,
  groupIdOf,
  resultOfCall,
  type StoredGroup,
} from "./groups.ts";
import type { RequestCounts } from "./request-counts.ts";
import type { Fault } from "./request-faults.ts";
import type { ApiOptions, RetryAfter } from "./service-options.ts";
import type { Journal } from "./state-file.ts";

interface ApiRequest {
  readonly method: string;
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  readonly body: RequestBody;
}

export type RequestBody =
  | { readonly kind: "json"; readonly value: Json }
  | { readonly kind: "malformed" | "too-large" };

const ALLOWED = API_METHODS.join(", ");

/** `/api/user` of the service. Writes each change to the state file before it returns the reply. */
export function userGroupApi(
  options: ApiOptions,
  groups: Groups,
  journal: Journal | undefined,
  counts: Pick<RequestCounts, "deleted" | "inFlight">,
) {
  const limiters = [
    ...(options.rateLimit ? [fixedWindow(options.rateLimit)] : []),
    ...(options.tokenBucket ? [tokenBucket(options.tokenBucket)] : []),
  ];

  function serve(request: ApiRequest): HttpReply {
    if (!carriesKey(request.authorization, options.apiKey)) {
      return failed(401, "the Authorization header is not 'Token <API_KEY>' with a key of this service");
    }
    const operation = API_METHODS.find((name) => name === request.method);
    if (!operation) return failed(405, `${request.method} is none of ${ALLOWED}`, { allow: ALLOWED });
    if (!/^application\/json\s*(;|$)/i.test(request.contentType ?? "")) {
      return failed(415, "the Content-Type header is not application/json");
    }
    switch (request.body.kind) {
      case "too-large":
        return failed(413, "the body is too large");
      case "malformed":
        return failed(400, "the body is not JSON");
      case "json":
        return carryOut(operation, request.body.value);
      default:
        return request.body satisfies never;
    }
  }

  function carryOut(operation: ApiMethod, body: Json): HttpReply {
    const id = groupIdOf(groups, body);
    const poison = id === undefined ? undefined : options.poison.get(id);
    switch (poison) {
      case "500":
        return jsonAnswer(500, { success: 0, error: "internal error" });
      case "403":
        return jsonAnswer(403, { success: 0, error: "forbidden" });
      case "success0":
        return jsonAnswer(200, { success: 0 });
      case "hang":
        return { kind: "hang" };
      case "html":
        return htmlAnswer(options.htmlStatus);
      case "missing-field":
      case undefined:
        break;
      default:
        return poison satisfies never;
    }
    const outcome = resultOfCall(groups, options, operation, body, newToken);
    if (outcome.kind === "refused") return failed(outcome.status, outcome.reason);
    if (outcome.change) {
      journal?.append(outcome.change);
      groups.apply(outcome.change);
    }
    if (outcome.kind === "deleted") counts.deleted(outcome.deletion);
    return jsonAnswer(200, success(outcome, poison === "missing-field"));
  }

  function success(outcome: Exclude<CallResult, { kind: "refused" }>, withoutField: boolean): Json {
    if (outcome.kind === "deleted") return withoutField ? {} : { success: 1 };
    return {
      success: 1,
      ...(outcome.kind === "rotated" ? {} : { new_user_group: outcome.kind === "created" }),
      user_group: record(outcome.group, withoutField),
    };
  }

  function record({ token, name, user_group_id }: StoredGroup, withoutToken: boolean): Json {
    return {
      team_id: options.teamId,
      ...(withoutToken ? {} : { token }),
      name,
      provided_id: user_group_id,
    };
  }

  function failed(status: number, error: string, headers: Headers = {}): HttpReply {
    return jsonAnswer(options.errors === "body" ? 200 : status, { success: 0, error }, headers);
  }

  function tooManyRequests(wait: number, now: number): HttpReply {
    const value = retryAfterValue(options.retryAfter, wait, now);
    return jsonAnswer(
      429,
      { success: 0, error: "too many requests" },
      value === undefined ? {} : { "retry-after": value },
    );
  }

  return {
    /** The id of the group that a request's body names. Undefined if it names none. */
    groupIn(body: RequestBody): string | undefined {
      return body.kind === "json" ? groupIdOf(groups, body.value) : undefined;
    },
    /** Refuses a request without Retry-After if too many are in flight with it: the end of the others isn't known. */
    tooManyAtOnce(): HttpAnswer | undefined {
      const { concurrencyLimit } = options;
      if (concurrencyLimit === undefined || counts.inFlight <= concurrencyLimit) return undefined;
      return jsonAnswer(429, { success: 0, error: "too many requests at once" });
    },
    /** `now` is in milliseconds since the epoch. If the state file can't be written, throws, and nothing has changed. */
    reply(request: ApiRequest, fault: Fault, now: number): HttpReply {
      if (fault === "cut-before") return { kind: "cut" };
      if (fault === "html") return htmlAnswer(options.htmlStatus);
      for (const limiter of limiters) {
        const wait = limiter(now);
        if (wait > 0) return tooManyRequests(wait, now);
      }
      if (fault === "fail") return jsonAnswer(500, { success: 0, error: "internal error" });
      const answer = serve(request);
      return fault === "cut-after" ? { kind: "cut" } : answer;
    },
  };
}

export type UserGroupApi = ReturnType<typeof userGroupApi>;

export const carriesKey = (authorization: string | undefined, apiKey: string): boolean =>
  authorization === `Token ${apiKey}`;

/** 40 characters, base64url. */
const newToken = (): string => randomBytes(30).toString("base64url");

type Headers = Readonly<Record<string, string>>;

export interface HttpAnswer {
  readonly kind: "answer";
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** How a request ends: with an answer, with a cut connection, or never (`hang`: the connection stays open). */
export type HttpReply = HttpAnswer | { readonly kind: "cut" | "hang" };

export const jsonAnswer = (status: number, body: unknown, headers: Headers = {}): HttpAnswer => ({
  kind: "answer",
  status,
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
});

/** An HTML page such as a proxy or a web application firewall sends. */
function htmlAnswer(status: number): HttpAnswer {
  const title = `${status} ${STATUS_CODES[status] ?? ""}`.trimEnd();
  return {
    kind: "answer",
    status,
    headers: { "content-type": "text/html; charset=utf-8" },
    body: `<html>\n<head><title>${title}</title></head>\n<body><h1>${title}</h1></body>\n</html>\n`,
  };
}

/** Fixed windows. A window begins with the first request after the end of the last window. */
export function fixedWindow({ count, perMs }: RateLimit): Limiter {
  let end = 0;
  let used = 0;
  return (now) => {
    if (now >= end) {
      end = now + perMs;
      used = 0;
    }
    if (used === count) return end - now;
    used += 1;
    return 0;
  };
}

/** The value of Retry-After (RFC 9110 §10.2.3) for a wait in milliseconds, rounded up to a whole second. */
export function retryAfterValue(form: RetryAfter, wait: number, now: number): string | undefined {
  switch (form) {
    case "none":
      return undefined;
    case "seconds":
      return String(Math.ceil(wait / 1000));
    case "date":
      return new Date(Math.ceil((now + wait) / 1000) * 1000).toUTCString();
  }
}
