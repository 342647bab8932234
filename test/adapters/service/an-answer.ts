import { readGetAnswer, readPostAnswer, successfulBody } from "../../../src/adapters/service/read-answer.ts";
import type { WireAnswer, WireRequest } from "../../../src/adapters/service/wire-answer.ts";
import { ServiceFailure } from "../../../src/core/failure/service-failure.ts";
import { Secret } from "../../../src/core/secret/secret.ts";

export const NOW = new Date("2026-03-01T12:00:00Z");
export const TOKEN = "ugt_0123456789abcdef0123456789";
/** So short that no pattern could tell that it is a key. */
export const KEY = "key-7";

export const anAnswer = (overrides: Partial<WireAnswer> = {}): WireAnswer => ({
  status: 200,
  contentType: "application/json",
  contentEncoding: undefined,
  date: undefined,
  retryAfter: undefined,
  location: undefined,
  body: JSON.stringify({ success: 1, new_user_group: true, user_group: aUserGroup() }),
  ...overrides,
});

export const aUserGroup = (overrides: object = {}): object => ({
  team_id: 7,
  token: TOKEN,
  name: "Acme",
  provided_id: "acme",
  ...overrides,
});

export const aRequest = (overrides: Partial<WireRequest> = {}): WireRequest => ({
  method: "GET",
  id: "acme",
  receivedAt: NOW,
  apiKey: new Secret(KEY),
  secrets: [new Secret(KEY)],
  ...overrides,
});

const READERS = { GET: readGetAnswer, POST: readPostAnswer, DELETE: successfulBody };

/** Reads an answer to a request by its method. */
export const read = (answer: Partial<WireAnswer>, request: Partial<WireRequest> = {}): unknown =>
  READERS[request.method ?? "GET"](anAnswer(answer), aRequest(request));

/** The failure that an answer is read as. */
export function failureOf(answer: Partial<WireAnswer>, request: Partial<WireRequest> = {}): ServiceFailure {
  try {
    read(answer, request);
  } catch (error) {
    if (error instanceof ServiceFailure) return error;
    throw error;
  }
  throw new Error("the answer was believed");
}
