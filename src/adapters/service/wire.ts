import { z } from "zod";
import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import { printable } from "../../core/printable.ts";
import { Secret } from "../../core/secret.ts";
import { SERVICE_FAILURES, ServiceFailure, type ServiceFailureCode } from "../../core/service-failure.ts";
import type { ServiceGroup } from "../../ports/group-service.ts";

export type Operation = "GET" | "POST" | "DELETE";

/** An answer as it came off the wire. */
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

/** What the answer is measured against and what its error may repeat. */
export interface WireRequest {
  readonly operation: Operation;
  readonly id: string;
  readonly receivedAt: Date;
  /** What was sent in confidence, and must not come back in a message. */
  readonly secrets: readonly Secret[];
}

const USER_GROUP = z.object({
  // Rejected here: no database could store such a number or such text, and no sane token is this long.
  team_id: z.int(),
  token: z.string().regex(/^[^\0\p{Cs}]{1,8192}$/u),
  name: z.string(),
  provided_id: z.string(),
});
const POST_ANSWER = z.object({ user_group: USER_GROUP });
const GET_ANSWER = z.object({ new_user_group: z.boolean(), user_group: USER_GROUP });

/** Believes an answer to GET only if it is complete and about the group that was asked for. */
export function readGetAnswer(
  answer: WireAnswer,
  request: WireRequest,
): { isNew: boolean; group: ServiceGroup } {
  const { new_user_group: isNew, user_group } = readAnswer(GET_ANSWER, answer, request);
  return { isNew, group: serviceGroup(user_group) };
}

/** POST: likewise, for a token of another group is none. */
export const readPostAnswer = (answer: WireAnswer, request: WireRequest): ServiceGroup =>
  serviceGroup(readAnswer(POST_ANSWER, answer, request).user_group);

function readAnswer<T extends z.infer<typeof POST_ANSWER>>(
  schema: z.ZodType<T>,
  answer: WireAnswer,
  request: WireRequest,
): T {
  const parsed = schema.safeParse(successfulBody(answer, request));
  if (!parsed.success) {
    const fields = parsed.error.issues.map((issue) => issue.path.join(".")).join(", ");
    throw new ServiceFailure("BAD_RESPONSE", `${said(answer, request)} without a good ${fields}`);
  }
  if (parsed.data.user_group.provided_id !== request.id) {
    throw new ServiceFailure("BAD_RESPONSE", `${said(answer, request)} about another user group`);
  }
  return parsed.data;
}

const serviceGroup = ({ team_id, token, name }: z.infer<typeof USER_GROUP>): ServiceGroup => ({
  teamId: team_id,
  token: new Secret(token),
  name,
});

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
    // Anything else than a clear no may well have been a yes.
    const refused = body.success === 0 || body.success === false;
    throw failure(refused ? "REFUSED" : "BAD_RESPONSE", answer, request);
  }
  throw failure(codeOf(answer, request, body), answer, request);
}

function codeOf(
  answer: WireAnswer,
  { operation }: WireRequest,
  body: JsonObject | undefined,
): ServiceFailureCode {
  const { status } = answer;
  const refusesBody = status === 400 || status === 403 || status === 405;
  if (operation === "GET" && refusesBody && isHtml(answer)) return "INTERMEDIARY_REFUSED";
  if (status === 401 || (status === 403 && !isHtml(answer))) return "KEY_REFUSED";
  if (status === 429) return "THROTTLED";
  if (status === 503) return "OVERLOADED";
  if (status === 408) return "TIMEOUT";
  if (status >= 500) return "SERVICE_ERROR";
  // "See other", and a no that says yes, may follow upon what was asked for.
  return status >= 400 && body && body.success !== 1 ? "REFUSED" : "BAD_RESPONSE";
}

function failure(code: ServiceFailureCode, answer: WireAnswer, request: WireRequest): ServiceFailure {
  const message = `${said(answer, request)}${reasonIn(answer, request)}`;
  const retryAfterMs =
    SERVICE_FAILURES[code].reaction === "slow"
      ? parseRetryAfter(answer.retryAfter, sentAt(answer, request))
      : undefined;
  return new ServiceFailure(code, message, retryAfterMs === undefined ? {} : { retryAfterMs });
}

/** A date is one on the service's clock, which may not be ours. */
function sentAt({ date }: WireAnswer, { receivedAt }: WireRequest): Date {
  const sent = date === undefined ? Number.NaN : httpDate(date);
  return Number.isNaN(sent) ? receivedAt : new Date(sent);
}

/** "GET was answered HTTP 200 with HTML" */
function said(answer: WireAnswer, request: WireRequest): string {
  const { status, location } = answer;
  const redirect = location === undefined ? "" : `, a redirect to ${originOf(location, request)}`;
  return `${request.operation} was answered HTTP ${status}${contentOf(answer)}${redirect}`;
}

function contentOf(answer: WireAnswer): string {
  const { body, contentEncoding = "identity" } = answer;
  if (isHtml(answer)) return " with HTML";
  if (jsonObject(body)) return "";
  if (body === "") return " with an empty body";
  if (/^identity$/i.test(contentEncoding)) return " with text that is no JSON object";
  const encoding = /^(gzip|x-gzip|deflate|br|zstd|compress)$/i.test(contentEncoding)
    ? contentEncoding
    : "unknown";
  return ` with a body in the encoding ${encoding}, which was not asked for`;
}

/** The service's own words, where its JSON has any. The error's shape is not promised. */
function reasonIn({ body }: WireAnswer, request: WireRequest): string {
  const members = jsonObject(body);
  const secrets = [...request.secrets, ...tokenIn(members)];
  for (const key of ["message", "error", "detail", "reason"]) {
    const value = members?.[key];
    if (typeof value === "string" && value !== "") return `: ${quotable(value, { ...request, secrets })}`;
  }
  return members && "success" in members ? `: success is ${shownValue(members.success)}` : "";
}

/** The group's token, which may be repeated in what is said about it. */
function tokenIn(members: JsonObject | undefined): Secret[] {
  const group = members?.user_group;
  const token = isJsonObject(group) ? group.token : undefined;
  return typeof token === "string" && token !== "" ? [new Secret(token)] : [];
}

/** Text can hold a secret, and a deep structure is more than JSON.stringify can take. */
function shownValue(value: Json | undefined): string {
  if (typeof value === "string") return "text";
  if (Array.isArray(value)) return "a list";
  return isJsonObject(value) ? "an object" : String(value);
}

const HIDDEN = "[…]";
const LONGEST_QUOTE = 300;

/** Anything that is a secret, or could be a token or a key, is left out of the service's words. */
function quotable(text: string, { id, secrets }: WireRequest): string {
  const known = secrets.flatMap(writtenForms).reduce((rest, form) => rest.replaceAll(form, HIDDEN), text);
  const shown = known
    .replace(/[^\s"'`,;:()]{6,}/g, (word) => (word !== id && mayBeSecret(word) ? HIDDEN : word))
    .replace(/\p{C}+/gu, " ");
  return printable(shown, LONGEST_QUOTE);
}

/** A long word, or one that no language has: a digit in it, or a capital in the middle. */
const mayBeSecret = (word: string): boolean => word.length >= 20 || /\d|[a-z][A-Z]/.test(word);

/** As it is, and in the forms in which a url, a header or a text in a text would carry it. */
function writtenForms(secret: Secret): string[] {
  const value = secret.reveal();
  const bytes = Buffer.from(value);
  const base64 = bytes.toString("base64");
  return [
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value),
    base64,
    base64.replace(/=+$/, ""),
    bytes.toString("base64url"),
    bytes.toString("hex"),
  ];
}

/** Seconds or an HTTP date, as milliseconds from now; never negative, an hour at most. */
export function parseRetryAfter(value: string | undefined, now: Date): number | undefined {
  if (value === undefined) return undefined;
  const ms = /^\s*\d+\s*$/.test(value) ? Number(value) * 1000 : httpDate(value) - now.getTime();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), 3_600_000);
}

/** Date.parse makes a date of nearly anything with a number in it. */
const httpDate = (value: string): number =>
  /^\s*[a-z]{3,9}, .+ GMT\s*$/i.test(value) ? Date.parse(value) : Number.NaN;

/** By its looks, or by its name: PHP calls its JSON text/html too. */
const isHtml = ({ body, contentType }: WireAnswer): boolean =>
  /^\s*<(!doctype|html|head|body|center|h1|title)/i.test(body.slice(0, 500)) ||
  (/^text\/html\b/i.test(contentType) && body !== "" && jsonObject(body) === undefined);

function originOf(location: string, { secrets }: WireRequest): string {
  try {
    const { origin, hostname } = new URL(location);
    // What stands for a host is written small.
    const isTold = secrets.flatMap(writtenForms).some((form) => origin.includes(form.toLowerCase()));
    return isTold || /[^.]{32}/.test(hostname) ? "another host" : origin;
  } catch {
    return "another path";
  }
}

function jsonObject(body: string): JsonObject | undefined {
  try {
    const value = JSON.parse(body) as Json;
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
