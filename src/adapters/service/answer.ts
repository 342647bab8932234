import * as z from "zod";
import {
  SERVICE_FAILURES,
  ServiceFailure,
  type ServiceFailureCode,
} from "../../core/failure/service-failure.ts";
import { Secret } from "../../core/secret/secret.ts";
import { isJsonObject, type Json, type JsonObject, jsonObjectIn } from "../../core/text/json.ts";
import { hidesCharacters } from "../../core/text/printable.ts";
import type { GetAnswer, ServiceGroup, ServiceMethod } from "../../ports/group-service.ts";
import { hidesSecret, nameWithout, quoted } from "./quoted.ts";

/** An answer as the service sent it. */
export interface WireAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly contentEncoding: string | undefined;
  /** The time on the service's clock. */
  readonly date: string | undefined;
  readonly retryAfter: string | undefined;
  readonly location: string | undefined;
  readonly body: string;
}

/** The request that an answer belongs to. */
export interface WireRequest {
  readonly method: ServiceMethod;
  readonly id: string;
  readonly receivedAt: Date;
  readonly apiKey: Secret;
  /** The API key and tokens that were sent: no message may repeat them. */
  readonly secrets: readonly Secret[];
}

const USER_GROUP = z.object({
  // No database could store a larger number.
  team_id: z.int(),
  token: z.string().refine(canBeToken),
  name: z.string(),
  provided_id: z.string(),
});
const POST_ANSWER = z.object({ user_group: USER_GROUP });
const GET_ANSWER = z.object({ new_user_group: z.boolean(), user_group: USER_GROUP });

/** No real token is longer, is blank, or has half of a surrogate pair or a character that nobody sees. */
function canBeToken(text: string): boolean {
  return /^\P{Cs}{1,8192}$/u.test(text) && text.trim() !== "" && !hidesCharacters(text);
}

/** Throws BAD_RESPONSE unless the answer to GET is complete and about the group that was asked for. */
export function readGetAnswer(answer: WireAnswer, request: WireRequest): GetAnswer {
  const { new_user_group: isNew, user_group } = readAnswer(GET_ANSWER, answer, request);
  return { isNew, group: serviceGroup(user_group, request) };
}

export const readPostAnswer = (answer: WireAnswer, request: WireRequest): ServiceGroup =>
  serviceGroup(readAnswer(POST_ANSWER, answer, request).user_group, request);

function readAnswer<T extends z.infer<typeof POST_ANSWER>>(
  schema: z.ZodType<T>,
  answer: WireAnswer,
  request: WireRequest,
): T {
  const parsed = schema.safeParse(successfulBody(answer, request));
  if (!parsed.success) {
    const fields = parsed.error.issues.map((issue) => issue.path.join(".")).join(", ");
    throw new ServiceFailure("BAD_RESPONSE", `${answerText(answer, request)} without a good ${fields}`);
  }
  if (parsed.data.user_group.provided_id !== request.id) {
    throw new ServiceFailure("BAD_RESPONSE", `${answerText(answer, request)} about another user group`);
  }
  if (parsed.data.user_group.token.includes(request.apiKey.reveal())) {
    const message = `${answerText(answer, request)} with the API key in the group's token`;
    throw new ServiceFailure("BAD_RESPONSE", message);
  }
  return parsed.data;
}

/** The name goes into the ledger and into messages. Without a token that it repeats, the token is stored all the same. */
const serviceGroup = (
  { team_id, token, name }: z.infer<typeof USER_GROUP>,
  { apiKey }: WireRequest,
): ServiceGroup => ({
  teamId: team_id,
  token: new Secret(token),
  name: nameWithout([apiKey.reveal(), token], name),
});

/** The body of a call that succeeded. Throws any other answer as a ServiceFailure. */
export function successfulBody(answer: WireAnswer, request: WireRequest): JsonObject {
  const { status } = answer;
  const body = jsonObjectIn(answer.body);
  if (status >= 200 && status < 300) {
    if (!body) throw answerFailure("BAD_RESPONSE", answer, request);
    if (body.success === 1) return body;
    // Only a clear no is a refusal. After any other value, the service may have done what was asked.
    const refused = body.success === 0 || body.success === false;
    throw answerFailure(refused ? "REFUSED" : "BAD_RESPONSE", answer, request);
  }
  throw answerFailure(failureCode(answer, request, body), answer, request);
}

/** What an answer without success means, by its HTTP status and body. */
function failureCode(
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

function answerFailure(code: ServiceFailureCode, answer: WireAnswer, request: WireRequest): ServiceFailure {
  const message = `${answerText(answer, request)}${reasonIn(answer, request)}`;
  const retryAfterMs =
    SERVICE_FAILURES[code].reaction === "slow"
      ? parseRetryAfter(answer.retryAfter, sentAt(answer, request))
      : undefined;
  const isJson = jsonObjectIn(answer.body) !== undefined;
  return new ServiceFailure(code, message, { isJson, retryAfterMs });
}

/** When the answer was sent, by the service's clock: a date in Retry-After goes by that clock, too. */
function sentAt({ date }: WireAnswer, { receivedAt }: WireRequest): Date {
  const sent = date === undefined ? Number.NaN : httpDate(date);
  return Number.isNaN(sent) ? receivedAt : new Date(sent);
}

/** Such as "GET was answered HTTP 200 with HTML". */
function answerText(answer: WireAnswer, request: WireRequest): string {
  const { status, location } = answer;
  const redirect = location === undefined ? "" : `, a redirect to ${originOf(location, request)}`;
  return `${request.method} was answered HTTP ${status}${contentOf(answer)}${redirect}`;
}

function contentOf(answer: WireAnswer): string {
  const { body, contentEncoding = "identity" } = answer;
  if (isHtml(answer)) return " with HTML";
  if (jsonObjectIn(answer.body)) return "";
  if (body === "") return " with an empty body";
  if (/^identity$/i.test(contentEncoding)) return " with text that is no JSON object";
  const encoding = /^(gzip|x-gzip|deflate|br|zstd|compress)$/i.test(contentEncoding)
    ? contentEncoding
    : "unknown";
  return ` with a body in the encoding ${encoding}, which was not asked for`;
}

/** The service's own words, if its JSON has any: interface.md promises no shape for errors. */
function reasonIn(answer: WireAnswer, request: WireRequest): string {
  const members = jsonObjectIn(answer.body);
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
function parseRetryAfter(value: string | undefined, now: Date): number | undefined {
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

/** By its content, or by its content type: PHP calls its JSON text/html too. */
const isHtml = ({ body, contentType }: WireAnswer): boolean =>
  /^\s*<(!doctype|html|head|body|center|h1|title)/i.test(body.slice(0, 500)) ||
  (/^text\/html\b/i.test(contentType) && body !== "" && jsonObjectIn(body) === undefined);
