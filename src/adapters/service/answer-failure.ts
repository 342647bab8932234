import {
  SERVICE_FAILURES,
  ServiceFailure,
  type ServiceFailureCode,
} from "../../core/failure/service-failure.ts";
import { Secret } from "../../core/secret/secret.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/text/json.ts";
import { hidesSecret, isHtml, jsonObject, quoted, type WireAnswer, type WireRequest } from "./wire-answer.ts";

/** What an answer without success means, by its HTTP status and body. */
export function failureCode(
  answer: WireAnswer,
  { method }: WireRequest,
  body: JsonObject | undefined,
): ServiceFailureCode {
  const { status } = answer;
  const refusesBody = status === 400 || status === 403 || status === 405;
  if (method === "GET" && refusesBody && isHtml(answer)) return "INTERMEDIARY_REFUSED";
  if (status === 401 || (status === 403 && !isHtml(answer))) return "KEY_REFUSED";
  if (status === 429) return "THROTTLED";
  if (status === 503) return "OVERLOADED";
  if (status === 408) return "TIMEOUT";
  if (status >= 500) return "SERVICE_ERROR";
  // Any other 4xx with a JSON object is a clear refusal, unless the object says success. After any other answer, such as a
  // redirect, the service may have done what was asked.
  return status >= 400 && body && body.success !== 1 ? "REFUSED" : "BAD_RESPONSE";
}

export function answerFailure(
  code: ServiceFailureCode,
  answer: WireAnswer,
  request: WireRequest,
): ServiceFailure {
  const message = `${answerText(answer, request)}${reasonIn(answer, request)}`;
  const retryAfterMs =
    SERVICE_FAILURES[code].reaction === "slow"
      ? parseRetryAfter(answer.retryAfter, sentAt(answer, request))
      : undefined;
  return new ServiceFailure(code, message, retryAfterMs === undefined ? {} : { retryAfterMs });
}

/** When the answer was sent, by the service's clock: a date in Retry-After goes by that clock, too. */
function sentAt({ date }: WireAnswer, { receivedAt }: WireRequest): Date {
  const sent = date === undefined ? Number.NaN : httpDate(date);
  return Number.isNaN(sent) ? receivedAt : new Date(sent);
}

/** Such as "GET was answered HTTP 200 with HTML". */
export function answerText(answer: WireAnswer, request: WireRequest): string {
  const { status, location } = answer;
  const redirect = location === undefined ? "" : `, a redirect to ${originOf(location, request)}`;
  return `${request.method} was answered HTTP ${status}${contentOf(answer)}${redirect}`;
}

function contentOf(answer: WireAnswer): string {
  const { body, contentEncoding = "identity" } = answer;
  if (isHtml(answer)) return " with HTML";
  if (jsonObject(answer)) return "";
  if (body === "") return " with an empty body";
  if (/^identity$/i.test(contentEncoding)) return " with text that is no JSON object";
  const encoding = /^(gzip|x-gzip|deflate|br|zstd|compress)$/i.test(contentEncoding)
    ? contentEncoding
    : "unknown";
  return ` with a body in the encoding ${encoding}, which was not asked for`;
}

/** The service's own words, if its JSON has any: interface.md promises no shape for errors. */
function reasonIn(answer: WireAnswer, request: WireRequest): string {
  const members = jsonObject(answer);
  const secrets = [...request.secrets, ...tokenIn(members)];
  for (const key of ["message", "error", "detail", "reason"]) {
    const value = members?.[key];
    if (typeof value === "string" && value !== "") return `: ${quoted(value, { ...request, secrets })}`;
  }
  return members && "success" in members ? `: success is ${shownValue(members.success)}` : "";
}

/** The group's token: the message beside it may repeat it. */
function tokenIn(members: JsonObject | undefined): Secret[] {
  const group = members?.user_group;
  const token = isJsonObject(group) ? group.token : undefined;
  return typeof token === "string" && token !== "" ? [new Secret(token)] : [];
}

/** Says only the kind of a value: text can hold a secret, and JSON.stringify fails on a deep structure. */
function shownValue(value: Json | undefined): string {
  if (typeof value === "string") return "text";
  if (Array.isArray(value)) return "a list";
  return isJsonObject(value) ? "an object" : String(value);
}

/** Parses `Retry-After`: seconds or an HTTP date. Returns milliseconds from `now`, from 0 to an hour. */
export function parseRetryAfter(value: string | undefined, now: Date): number | undefined {
  if (value === undefined) return undefined;
  const ms = /^\s*\d+\s*$/.test(value) ? Number(value) * 1000 : httpDate(value) - now.getTime();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), 3_600_000);
}

/** Date.parse alone would make a date of nearly any text with a number in it. */
const httpDate = (value: string): number =>
  /^\s*[a-z]{3,9}, .+ GMT\s*$/i.test(value) ? Date.parse(value) : Number.NaN;

function originOf(location: string, { secrets }: WireRequest): string {
  try {
    const { origin, hostname } = new URL(location);
    return hidesSecret(origin, secrets) || /[^.]{32}/.test(hostname) ? "another host" : origin;
  } catch {
    return "another path";
  }
}
