import { expect, test } from "vitest";
import {
  concernsEverybody,
  isOfToken,
  isUndecided,
  mayBeOfToken,
  type NeutralAnswer,
} from "../../../src/core/failure/neutral-request.ts";
import { ServiceFailure, type ServiceFailureCode } from "../../../src/core/failure/service-failure.ts";

const answer = (code: ServiceFailureCode, message: string) => new ServiceFailure(code, message);
const KEY = answer("KEY_REFUSED", "GET was answered HTTP 401: no such key");
const FIREWALL = answer("INTERMEDIARY_REFUSED", "GET was answered HTTP 403 with HTML");

test.each<[string, ServiceFailure, NeutralAnswer, boolean]>([
  ["the key, in the same words", KEY, answer("KEY_REFUSED", "POST was answered HTTP 401: no such key"), true],
  [
    "a token in the way of a key",
    KEY,
    answer("KEY_REFUSED", "POST was answered HTTP 401: no such token"),
    false,
  ],
  ["a token", KEY, answer("REFUSED", "POST was answered HTTP 404"), false],
  ["nothing", KEY, null, false],
  ["nobody knows what", KEY, answer("TIMEOUT", "POST was not answered"), false],
  ["every GET", FIREWALL, answer("INTERMEDIARY_REFUSED", "GET was answered HTTP 400 with HTML"), true],
  ["a wrong key", FIREWALL, answer("KEY_REFUSED", "GET was answered HTTP 401"), false],
])("a neutral request shows that %s is refused", (_, refusal, neutral, concerns) => {
  if (!isUndecided(refusal)) throw new Error("not undecided");
  expect(concernsEverybody(refusal, neutral)).toBe(concerns);
});

test.each<[string, ServiceFailure, NeutralAnswer, boolean]>([
  ["KEY_REFUSED, and a wrong key in the same words", KEY, answer("KEY_REFUSED", KEY.message), false],
  [
    "KEY_REFUSED, and a wrong key in other words",
    KEY,
    answer("KEY_REFUSED", "GET was answered HTTP 401"),
    true,
  ],
  ["SERVICE_ERROR, and a wrong key is refused", answer("SERVICE_ERROR", "HTTP 500"), KEY, true],
  [
    "SERVICE_ERROR, and a wrong key fails too",
    answer("SERVICE_ERROR", "a"),
    answer("SERVICE_ERROR", "b"),
    false,
  ],
  ["BAD_RESPONSE, and a wrong key passes", answer("BAD_RESPONSE", "a"), null, false],
])("a token of nobody is answered %s: whether the service works", (_, failure, toWrongKey, works) => {
  expect(mayBeOfToken(failure) && isOfToken(failure, toWrongKey)).toBe(works);
});

test.each(["TIMEOUT", "UNREACHABLE", "CONNECTION_LOST", "OVERLOADED"] as const)(
  "%s never comes from the token alone",
  (code) => {
    expect(mayBeOfToken(answer(code, ""))).toBe(false);
  },
);
