import type { LimitHeader } from "../../core/probe/findings.ts";
import type { Secret } from "../../core/secret/secret.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/text/json.ts";
import { printable } from "../../core/text/printable.ts";
import type { ServiceMethod } from "../../ports/group-service.ts";

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

/** The body as a JSON object; undefined if it is none. */
export function jsonObject({ body }: Pick<WireAnswer, "body">): JsonObject | undefined {
  try {
    const value = JSON.parse(body) as Json;
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** By its content, or by its content type: PHP calls its JSON text/html too. */
export const isHtml = ({ body, contentType }: WireAnswer): boolean =>
  /^\s*<(!doctype|html|head|body|center|h1|title)/i.test(body.slice(0, 500)) ||
  (/^text\/html\b/i.test(contentType) && body !== "" && jsonObject({ body }) === undefined);

const HIDDEN = "[…]";
const LONGEST_QUOTE = 300;

/** The service's words without secrets: also without any word that could be a token or a key. */
export function quoted(text: string, { id, secrets }: WireRequest): string {
  const known = secrets.flatMap(writtenForms).reduce((rest, form) => rest.replaceAll(form, HIDDEN), text);
  const shown = known
    .replace(/[^\s"'`,;:()]{6,}/g, (word) => (word !== id && mayBeSecret(word) ? HIDDEN : word))
    .replace(/\p{C}+/gu, " ");
  return printable(shown, LONGEST_QUOTE);
}

/** A long word, or a word with a digit or with a capital in the middle, as no language has. */
const mayBeSecret = (word: string): boolean => word.length >= 20 || /\d|[a-z][A-Z]/.test(word);

/** The secret itself, and the forms that a url, a header or a JSON string would carry it in. */
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

/** Whether the origin of a url contains a secret. The url parser has put the host into small letters. */
export const hidesSecret = (origin: string, secrets: readonly Secret[]): boolean =>
  secrets.flatMap(writtenForms).some((form) => origin.includes(form.toLowerCase()));

/** `RateLimit`, `RateLimit-Policy`, `X-RateLimit-Remaining`, `X-Rate-Limit-Reset`, `Retry-After` and the like. */
const TELLS_OF_LIMIT = /^(x-)?(rate-?limit|quota)|^retry-after$/;
const LONGEST_VALUE = 100;
/** Longer than any number or date in such a header. */
const LONGEST_WORD = 24;

/** The headers that tell of a limit, in the order in which they came. A value that may hold a secret is hidden. */
export const limitHeaders = (
  headers: Readonly<Record<string, string | string[] | undefined>>,
  secrets: readonly Secret[],
): readonly LimitHeader[] =>
  Object.entries(headers).flatMap(([name, value]) =>
    value !== undefined && TELLS_OF_LIMIT.test(name.toLowerCase())
      ? [{ name: name.toLowerCase(), value: shown(String(value), secrets) }]
      : [],
  );

function shown(value: string, secrets: readonly Secret[]): string {
  const hasLongWord = value.split(/[^\w-]+/).some((word) => word.length > LONGEST_WORD);
  return hasLongWord || hidesSecret(value.toLowerCase(), secrets)
    ? "[hidden]"
    : printable(value, LONGEST_VALUE);
}
