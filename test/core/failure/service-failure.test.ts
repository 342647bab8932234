import { describe, expect, it, test } from "vitest";
import { remedyOf } from "../../../src/core/failure/error-codes.ts";
import {
  concernsEverybody,
  isSameRefusal,
  isUndecided,
  type NeutralAnswer,
  type Reaction,
  ServiceFailure,
  type ServiceFailureCode,
} from "../../../src/core/failure/service-failure.ts";

/** design.md, "Failures", and whether the call may have had its effect. */
const expected: Record<ServiceFailureCode, [Reaction, mayHaveHappened: boolean]> = {
  KEY_REFUSED: ["ask", false],
  INTERMEDIARY_REFUSED: ["ask", true],
  THROTTLED: ["slow", false],
  OVERLOADED: ["slow", true],
  UNREACHABLE: ["retry", false],
  TIMEOUT: ["retry", true],
  CONNECTION_LOST: ["retry", true],
  SERVICE_ERROR: ["retry", true],
  BAD_RESPONSE: ["fail", true],
  REFUSED: ["fail", false],
  TOKEN_SHARED: ["fail", false],
};

describe("a failure", () => {
  it.each(Object.entries(expected) as [ServiceFailureCode, [Reaction, boolean]][])(
    "%s means %j, and tells what to do",
    (code, [reaction, mayHaveHappened]) => {
      const failure = new ServiceFailure(code, "GET was answered so");
      expect(failure).toMatchObject({ code, reaction, mayHaveHappened, message: "GET was answered so" });
      expect(failure.hint).toBe(remedyOf(code));
      expect(failure.retryAfterMs).toBeUndefined();
    },
  );

  it("may say how long to wait, what caused it, and a better hint", () => {
    const cause = new Error("reset");
    const failure = new ServiceFailure("THROTTLED", "…", { retryAfterMs: 5_000, hint: "wait", cause });
    expect(failure).toMatchObject({ retryAfterMs: 5_000, hint: "wait", cause });
  });
});

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
  [
    "a token, by another status",
    KEY,
    answer("KEY_REFUSED", "POST was answered HTTP 403: no such key"),
    false,
  ],
  ["nothing", KEY, null, false],
  ["nobody knows what", KEY, answer("TIMEOUT", "POST was not answered"), false],
  ["every GET", FIREWALL, answer("INTERMEDIARY_REFUSED", "GET was answered HTTP 400 with HTML"), true],
  ["a wrong key", FIREWALL, answer("KEY_REFUSED", "GET was answered HTTP 401"), false],
])("a neutral request shows that %s is refused", (_, refusal, neutral, concerns) => {
  if (!isUndecided(refusal)) throw new Error("not undecided");
  expect(concernsEverybody(refusal, neutral)).toBe(concerns);
});

const refused = (words: string) => answer("KEY_REFUSED", `GET was answered HTTP 401: ${words}`);

test.each([
  ["invalid API key (request 17)", "invalid API key (request 18)"],
  ["expired 9.5 s ago", "expired 12 s ago"],
  ["expired at 2026-03-01T12:00:00.123Z", "expired at 2026-03-01T12:00:01Z"],
  ["id 1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed", "id 110ec58a-a0f2-4ac4-8393-c866d813b8d1"],
  ["trace deadbeefcafe", "trace 00c0ffee0000"],
  ["ref QmFzZSBzaXh0eSBmb3VyIGlz/aG9y+dA==", "ref VGhpcyBpcyBhIHJlcXVlc3Q_aWQtd2=="],
])("a refusal with what varies is the same: %s", (one, another) => {
  expect(isSameRefusal(refused(one), refused(another))).toBe(true);
});

test.each([
  ["no such key", "no such token"],
  ["key 5 was revoked", "key 5 is unknown"],
])("a refusal in other words is another: %s", (one, another) => {
  expect(isSameRefusal(refused(one), refused(another))).toBe(false);
});
