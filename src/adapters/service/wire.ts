import { z } from "zod";
import type { JsonObject } from "../../core/json.ts";
import { Secret } from "../../core/secret.ts";
import { ServiceFailure, type ServiceFailureCode } from "../../core/service-failure.ts";
import type { ServiceGroup } from "../../ports/group-service.ts";

export type Operation = "GET" | "POST" | "DELETE";

/** An answer as it came off the wire. */
export interface WireAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly retryAfter: string | undefined;
  readonly location: string | undefined;
  readonly body: string;
}

/** What the answer is measured against and what its error may repeat. */
export interface WireRequest {
  readonly operation: Operation;
  readonly id: string;
  readonly receivedAt: Date;
}

const USER_GROUP = z.object({
  team_id: z.number(),
  // Rejected here: no database could store a NUL, and no token of a sane service is this long.
  token: z.string().regex(/^[^\0]{1,8192}$/),
  name: z.string(),
  provided_id: z.string(),
});
const GET_ANSWER = z.object({ new_user_group: z.boolean(), user_group: USER_GROUP });

/** Believes an answer to GET only if it is complete and about the group that was asked for. */
export function readGetAnswer(
  answer: WireAnswer,
  request: WireRequest,
): { isNew: boolean; group: ServiceGroup } {
  const parsed = GET_ANSWER.safeParse(successfulBody(answer, request));
  if (!parsed.success) {
    const fields = parsed.error.issues.map((issue) => issue.path.join(".")).join(", ");
    throw new ServiceFailure("BAD_RESPONSE", `${said(answer, request)} without a good ${fields}`);
  }
  const { new_user_group: isNew, user_group: group } = parsed.data;
  if (group.provided_id !== request.id) {
    throw new ServiceFailure("BAD_RESPONSE", `${said(answer, request)} about another user group`);
  }
  return { isNew, group: { teamId: group.team_id, token: new Secret(group.token), name: group.name } };
}

export function readDeleteAnswer(answer: WireAnswer, request: WireRequest): void {
  successfulBody(answer, request);
}

/** The body of a call that succeeded; every other answer is thrown as what it means (design: "Failures"). */
function successfulBody(answer: WireAnswer, request: WireRequest): JsonObject {
  const { status } = answer;
  const body = jsonObject(answer.body);
  if (status >= 200 && status < 300) {
    if (!body) throw failure("BAD_RESPONSE", answer, request);
    if (body.success === 1) return body;
    throw failure("success" in body ? "REFUSED" : "BAD_RESPONSE", answer, request);
  }
  throw failure(codeOf(answer, request, body !== undefined), answer, request);
}

function codeOf(
  { status, body }: WireAnswer,
  { operation }: WireRequest,
  isJson: boolean,
): ServiceFailureCode {
  const refusesBody = status === 400 || status === 403 || status === 405;
  if (operation === "GET" && refusesBody && isHtml(body)) return "INTERMEDIARY_REFUSED";
  if (status === 401 || (status === 403 && !isHtml(body))) return "KEY_REFUSED";
  if (status === 429 || status === 503) return "THROTTLED";
  if (status === 408) return "TIMEOUT";
  if (status >= 500) return "SERVICE_ERROR";
  return isJson ? "REFUSED" : "BAD_RESPONSE";
}

function failure(code: ServiceFailureCode, answer: WireAnswer, request: WireRequest): ServiceFailure {
  const message = `${said(answer, request)}${reasonIn(answer, request)}`;
  const retryAfterMs =
    code === "THROTTLED" ? parseRetryAfter(answer.retryAfter, request.receivedAt) : undefined;
  return new ServiceFailure(code, message, retryAfterMs === undefined ? {} : { retryAfterMs });
}

/** "GET was answered HTTP 200 with HTML" */
function said({ status, body, location }: WireAnswer, { operation }: WireRequest): string {
  const content = isHtml(body)
    ? " with HTML"
    : jsonObject(body)
      ? ""
      : body === ""
        ? " with an empty body"
        : " with text that is not JSON";
  const redirect = location === undefined ? "" : `, a redirect to ${originOf(location)}`;
  return `${operation} was answered HTTP ${status}${content}${redirect}`;
}

/** The service's own words, where its JSON has any. The error's shape is not promised. */
function reasonIn({ body }: WireAnswer, { id }: WireRequest): string {
  const members = jsonObject(body);
  for (const key of ["message", "error", "detail", "reason"]) {
    const value = members?.[key];
    if (typeof value === "string" && value !== "") return `: ${quotable(value, id)}`;
  }
  return members && "success" in members
    ? `: success is ${JSON.stringify(members.success)?.slice(0, 40)}`
    : "";
}

/** Anything that could be a token or a key is left out of the service's words. */
const quotable = (text: string, id: string): string =>
  text
    .slice(0, 300)
    .replace(/[^\s"'`,;:()]{20,}/g, (word) => (word === id ? word : "[…]"))
    .replace(/\p{Cc}+/gu, " ");

/** Seconds or an HTTP date, as milliseconds from now; never negative, an hour at most. */
export function parseRetryAfter(value: string | undefined, now: Date): number | undefined {
  if (value === undefined) return undefined;
  const ms = /^\d+$/.test(value.trim()) ? Number(value) * 1000 : Date.parse(value) - now.getTime();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), 3_600_000);
}

const isHtml = (body: string): boolean =>
  /^\s*<(!doctype|html|head|body|center|h1|title)/i.test(body.slice(0, 500));

function originOf(location: string): string {
  try {
    return new URL(location).origin;
  } catch {
    return "another path";
  }
}

function jsonObject(body: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : undefined;
  } catch {
    return undefined;
  }
}
