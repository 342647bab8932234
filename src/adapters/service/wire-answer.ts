import type { Secret } from "../../core/secret/secret.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/text/json.ts";
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
