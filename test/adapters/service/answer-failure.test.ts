import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseRetryAfter } from "../../../src/adapters/service/answer-failure.ts";
import { SERVICE_FAILURES, ServiceFailure } from "../../../src/core/failure/service-failure.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import { rounds } from "../../support/long.ts";
import { aUserGroup, failureOf, KEY, NOW, read, TOKEN } from "./an-answer.ts";

const JSON_BODY = '{"success": 0, "error": "no"}';
const HTML = "<!DOCTYPE html><html><body>403 Forbidden</body></html>";

describe("the failure that an answer means:", () => {
  // Every body kind, in the order: JSON, HTML, text, nothing.
  test.each([
    ["GET", 301, ["BAD_RESPONSE", "BAD_RESPONSE", "BAD_RESPONSE", "BAD_RESPONSE"]],
    ["GET", 400, ["REFUSED", "INTERMEDIARY_REFUSED", "BAD_RESPONSE", "BAD_RESPONSE"]],
    ["GET", 401, ["KEY_REFUSED", "KEY_REFUSED", "KEY_REFUSED", "KEY_REFUSED"]],
    ["GET", 403, ["KEY_REFUSED", "INTERMEDIARY_REFUSED", "KEY_REFUSED", "KEY_REFUSED"]],
    ["GET", 404, ["REFUSED", "BAD_RESPONSE", "BAD_RESPONSE", "BAD_RESPONSE"]],
    ["GET", 405, ["REFUSED", "INTERMEDIARY_REFUSED", "BAD_RESPONSE", "BAD_RESPONSE"]],
    ["GET", 408, ["TIMEOUT", "TIMEOUT", "TIMEOUT", "TIMEOUT"]],
    ["GET", 422, ["REFUSED", "BAD_RESPONSE", "BAD_RESPONSE", "BAD_RESPONSE"]],
    ["GET", 429, ["THROTTLED", "THROTTLED", "THROTTLED", "THROTTLED"]],
    ["GET", 500, ["SERVICE_ERROR", "SERVICE_ERROR", "SERVICE_ERROR", "SERVICE_ERROR"]],
    ["GET", 502, ["SERVICE_ERROR", "SERVICE_ERROR", "SERVICE_ERROR", "SERVICE_ERROR"]],
    ["GET", 503, ["OVERLOADED", "OVERLOADED", "OVERLOADED", "OVERLOADED"]],
    ["GET", 200, ["REFUSED", "BAD_RESPONSE", "BAD_RESPONSE", "BAD_RESPONSE"]],
    ["GET", 204, ["REFUSED", "BAD_RESPONSE", "BAD_RESPONSE", "BAD_RESPONSE"]],
    ["POST", 303, ["BAD_RESPONSE", "BAD_RESPONSE", "BAD_RESPONSE", "BAD_RESPONSE"]],
    ["POST", 503, ["OVERLOADED", "OVERLOADED", "OVERLOADED", "OVERLOADED"]],
    ["POST", 200, ["REFUSED", "BAD_RESPONSE", "BAD_RESPONSE", "BAD_RESPONSE"]],
    ["POST", 400, ["REFUSED", "BAD_RESPONSE", "BAD_RESPONSE", "BAD_RESPONSE"]],
    ["POST", 401, ["KEY_REFUSED", "KEY_REFUSED", "KEY_REFUSED", "KEY_REFUSED"]],
    ["POST", 403, ["KEY_REFUSED", "BAD_RESPONSE", "KEY_REFUSED", "KEY_REFUSED"]],
    ["POST", 404, ["REFUSED", "BAD_RESPONSE", "BAD_RESPONSE", "BAD_RESPONSE"]],
    ["POST", 429, ["THROTTLED", "THROTTLED", "THROTTLED", "THROTTLED"]],
    ["POST", 500, ["SERVICE_ERROR", "SERVICE_ERROR", "SERVICE_ERROR", "SERVICE_ERROR"]],
    ["DELETE", 200, ["REFUSED", "BAD_RESPONSE", "BAD_RESPONSE", "BAD_RESPONSE"]],
    ["DELETE", 400, ["REFUSED", "BAD_RESPONSE", "BAD_RESPONSE", "BAD_RESPONSE"]],
    ["DELETE", 401, ["KEY_REFUSED", "KEY_REFUSED", "KEY_REFUSED", "KEY_REFUSED"]],
    ["DELETE", 403, ["KEY_REFUSED", "BAD_RESPONSE", "KEY_REFUSED", "KEY_REFUSED"]],
    ["DELETE", 404, ["REFUSED", "BAD_RESPONSE", "BAD_RESPONSE", "BAD_RESPONSE"]],
    ["DELETE", 405, ["REFUSED", "BAD_RESPONSE", "BAD_RESPONSE", "BAD_RESPONSE"]],
    ["DELETE", 429, ["THROTTLED", "THROTTLED", "THROTTLED", "THROTTLED"]],
    ["DELETE", 500, ["SERVICE_ERROR", "SERVICE_ERROR", "SERVICE_ERROR", "SERVICE_ERROR"]],
  ] as const)("%s %i", (method, status, codes) => {
    const kinds = [
      { body: JSON_BODY },
      { body: HTML, contentType: "text/html" },
      { body: "Not here", contentType: "text/plain" },
      { body: "", contentType: "" },
    ];
    expect(kinds.map((kind) => failureOf({ status, ...kind }, { method }).code)).toEqual(codes);
  });

  test.each([
    [{ body: "Forbidden", contentType: "text/html; charset=utf-8" }, "INTERMEDIARY_REFUSED"],
    [{ body: "<!-- a proxy --><html></html>", contentType: "text/html" }, "INTERMEDIARY_REFUSED"],
    [{ body: "\ufeff\n  <HTML><BODY>", contentType: "" }, "INTERMEDIARY_REFUSED"],
    [{ body: JSON_BODY, contentType: "text/html" }, "KEY_REFUSED"],
    [{ body: "", contentType: "text/html" }, "KEY_REFUSED"],
  ])("403 with %j is told by what it is, not by its name alone", (answer, code) => {
    expect(failureOf({ status: 403, ...answer }).code).toBe(code);
  });

  test.each([
    ["0", "REFUSED", "success is 0"],
    ["false", "REFUSED", "success is false"],
    ["true", "BAD_RESPONSE", "success is true"],
    ['"1"', "BAD_RESPONSE", "success is text"],
    ["null", "BAD_RESPONSE", "success is null"],
    ["2", "BAD_RESPONSE", "success is 2"],
    ["[0]", "BAD_RESPONSE", "success is a list"],
    ['{"is": 0}', "BAD_RESPONSE", "success is an object"],
  ])("success: %s is not a success", (success, code, message) => {
    for (const method of ["GET", "POST", "DELETE"] as const) {
      const body = `{"success": ${success}, "new_user_group": true, "user_group": ${JSON.stringify(aUserGroup())}}`;
      const failure = failureOf({ body }, { method });
      expect(failure.code).toBe(code);
      expect(failure.message).toContain(message);
    }
  });

  test("deeply nested JSON is handled like any other", () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    expect(failureOf({ body: `{"success": ${deep}}` }).message).toMatch(/success is a list$/);
    expect(failureOf({ body: `{"success": 1, "user_group": ${deep}}` }).code).toBe("BAD_RESPONSE");
  });

  test.each(["[]", '"1"', "1", "null", "{}", '{"new_user_group": true}'])("%s is a bad response", (body) => {
    for (const method of ["GET", "POST", "DELETE"] as const) {
      expect(failureOf({ body }, { method }).code).toBe("BAD_RESPONSE");
    }
  });

  test.each([200, 301, 404, 422])("HTTP %i with success: 1 and nothing else is no clear no", (status) => {
    const failure = failureOf({ status, body: '{"success": 1}' });
    expect(failure).toMatchObject({ code: "BAD_RESPONSE", mayHaveHappened: true });
  });

  test.each([
    ["gzip", "GET was answered HTTP 200 with a body in the encoding gzip, which was not asked for"],
    [TOKEN, "GET was answered HTTP 200 with a body in the encoding unknown, which was not asked for"],
    ["identity", "GET was answered HTTP 200 with text that is no JSON object"],
  ])("a body in the encoding %s is called so", (contentEncoding, message) => {
    expect(failureOf({ body: "\u001f\ufffd", contentEncoding }).message).toBe(message);
  });

  test("each failure has a hint", () => {
    const failure = failureOf({ status: 401, body: JSON_BODY });
    expect(failure.hint).toBe(SERVICE_FAILURES.KEY_REFUSED.remedy);
    expect(failure.message).toBe("GET was answered HTTP 401: no");
  });
});

test("any bytes make a failure with a code and a hint, and without a secret", () => {
  const secret = "S3cr3t-" + "0123456789abcdef";
  const text = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.constant(secret), fc.constant(KEY));
  const word = fc.oneof(
    fc.constantFrom("success", "new_user_group", "user_group", "token", "name", "provided_id", "team_id"),
    fc.constantFrom("message", "error", "detail", "reason", "__proto__"),
  );
  const value = fc.letrec<{ any: unknown }>((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom(0, 1, true, null, "acme", 1e300),
      text,
      text.map((inner) => `words ${inner} ${secret} ${KEY}`),
      fc.array(tie("any"), { maxLength: 3 }),
      fc.dictionary(word, tie("any")),
    ),
  })).any;
  const body = fc.oneof(
    { weight: 4, arbitrary: fc.dictionary(word, value).map((object) => JSON.stringify(object)) },
    value.map((any) => JSON.stringify(any) ?? ""),
    text,
    text.map((inner) => `<html>${inner}`),
  );
  const answer = fc.record({
    status: fc.oneof(
      fc.constantFrom(200, 201, 400, 401, 403, 405, 429, 500, 503),
      fc.integer({ min: 100, max: 999 }),
    ),
    contentType: fc.oneof(fc.constantFrom("application/json", "text/html"), text),
    retryAfter: fc.option(text, { nil: undefined }),
    location: fc.option(
      text.map((inner) => `https://host.test/${inner}`),
      { nil: undefined },
    ),
    body,
  });
  fc.assert(
    fc.property(
      answer,
      fc.constantFrom("GET" as const, "POST" as const, "DELETE" as const),
      (wire, method) => {
        try {
          read(wire, { method, secrets: [new Secret(secret), new Secret(KEY)] });
        } catch (error) {
          expect(error).toBeInstanceOf(ServiceFailure);
          const { message, hint, code, cause } = error as ServiceFailure;
          expect(Object.keys(SERVICE_FAILURES)).toContain(code);
          expect(cause).toBeUndefined();
          const shown = `${message} ${hint} ${JSON.stringify(error)}`;
          expect(shown).not.toContain(secret);
          expect(shown).not.toContain(KEY);
          expect(message).not.toMatch(/\p{Cc}/u);
          expect(message.length).toBeLessThan(500);
        }
      },
    ),
    { numRuns: rounds(7_000) },
  );
});

describe("Retry-After", () => {
  test.each([
    ["0", 0],
    [" 120 ", 120_000],
    ["86400", 3_600_000],
    ["9".repeat(400), 3_600_000],
    ["Sun, 01 Mar 2026 12:00:30 GMT", 30_000],
    ["Sunday, 01-Mar-26 12:00:30 GMT", 30_000],
    ["Sun, 01 Mar 2026 11:00:00 GMT", 0],
    [undefined, undefined],
    ["", undefined],
    ["soon", undefined],
    ["-5", undefined],
    ["1.5", undefined],
    ["in 5 minutes", undefined],
    ["Sun, 99 Foo 2026 12:00:30 GMT", undefined],
  ])("%j", (value, ms) => {
    expect(parseRetryAfter(value, NOW)).toBe(ms);
  });

  test.each([
    ["Sun, 01 Mar 2026 12:29:30 GMT", 30_000],
    ["today", 1_800_000],
    [undefined, 1_800_000],
  ])("a date is measured against the answer's Date header, if there is one: %j", (date, ms) => {
    const retryAfter = "Sun, 01 Mar 2026 12:30:00 GMT";
    expect(failureOf({ status: 429, retryAfter, date, body: "" }).retryAfterMs).toBe(ms);
    expect(failureOf({ status: 429, retryAfter: "7", date, body: "" }).retryAfterMs).toBe(7_000);
  });

  test("is read from a 429 and a 503 only", () => {
    expect(failureOf({ status: 429, retryAfter: "7", body: "" }).retryAfterMs).toBe(7000);
    expect(failureOf({ status: 503, retryAfter: "7", body: "" }).retryAfterMs).toBe(7000);
    expect(failureOf({ status: 429, body: "" }).retryAfterMs).toBeUndefined();
    expect(failureOf({ status: 500, retryAfter: "7", body: "" }).retryAfterMs).toBeUndefined();
  });
});
