import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  parseRetryAfter,
  readDeleteAnswer,
  readGetAnswer,
  readPostAnswer,
  type WireAnswer,
  type WireRequest,
} from "../../../src/adapters/service/wire.ts";
import { Secret } from "../../../src/core/secret.ts";
import { SERVICE_FAILURES, ServiceFailure } from "../../../src/core/service-failure.ts";

const NOW = new Date("2026-03-01T12:00:00Z");
const TOKEN = "ugt_0123456789abcdef0123456789";
/** Short, and with a blank in none of its parts: no pattern could tell that it is a key. */
const KEY = "key-7";

const anAnswer = (overrides: Partial<WireAnswer> = {}): WireAnswer => ({
  status: 200,
  contentType: "application/json",
  contentEncoding: undefined,
  date: undefined,
  retryAfter: undefined,
  location: undefined,
  body: JSON.stringify({ success: 1, new_user_group: true, user_group: aUserGroup() }),
  ...overrides,
});

const aUserGroup = (overrides: object = {}): object => ({
  team_id: 7,
  token: TOKEN,
  name: "Acme",
  provided_id: "acme",
  ...overrides,
});

const aRequest = (overrides: Partial<WireRequest> = {}): WireRequest => ({
  operation: "GET",
  id: "acme",
  receivedAt: NOW,
  secrets: [new Secret(KEY)],
  ...overrides,
});

const READERS = { GET: readGetAnswer, POST: readPostAnswer, DELETE: readDeleteAnswer };

const read = (answer: Partial<WireAnswer>, request: Partial<WireRequest> = {}): unknown =>
  READERS[request.operation ?? "GET"](anAnswer(answer), aRequest(request));

function failureOf(answer: Partial<WireAnswer>, request: Partial<WireRequest> = {}): ServiceFailure {
  try {
    read(answer, request);
  } catch (error) {
    if (error instanceof ServiceFailure) return error;
    throw error;
  }
  throw new Error("the answer was believed");
}

const said = (body: object): string => failureOf({ status: 422, body: JSON.stringify(body) }).message;

describe("an answer that is believed", () => {
  test("to GET: the group, its token, and whether it is new", () => {
    expect(readGetAnswer(anAnswer(), aRequest())).toEqual({
      isNew: true,
      group: { teamId: 7, token: new Secret(TOKEN), name: "Acme" },
    });
    const { group } = readGetAnswer(anAnswer(), aRequest());
    expect(group.token.reveal()).toBe(TOKEN);
  });

  test("to POST: the group and its new token", () => {
    const body = JSON.stringify({ success: 1, user_group: aUserGroup() });
    const group = readPostAnswer(anAnswer({ body }), aRequest({ operation: "POST" }));
    expect(group).toEqual({ teamId: 7, token: new Secret(TOKEN), name: "Acme" });
    expect(group.token.reveal()).toBe(TOKEN);
  });

  test("to DELETE: success is enough", () => {
    expect(read({ body: '{"success": 1}' }, { operation: "DELETE" })).toBeUndefined();
  });

  test("may have fields that nobody knows", () => {
    const body = JSON.stringify({
      success: 1,
      new_user_group: false,
      user_group: aUserGroup({ is_demo_group: false, properties: null }),
      api_environment_tag: "production",
    });
    expect(read({ status: 201, body })).toMatchObject({ isNew: false });
  });
});

const JSON_BODY = '{"success": 0, "error": "no"}';
const HTML = "<!DOCTYPE html><html><body>403 Forbidden</body></html>";

describe("every other answer is a failure of one kind:", () => {
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
  ] as const)("%s %i", (operation, status, codes) => {
    const kinds = [
      { body: JSON_BODY },
      { body: HTML, contentType: "text/html" },
      { body: "Not here", contentType: "text/plain" },
      { body: "", contentType: "" },
    ];
    expect(kinds.map((kind) => failureOf({ status, ...kind }, { operation }).code)).toEqual(codes);
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
    for (const operation of ["GET", "POST", "DELETE"] as const) {
      const body = `{"success": ${success}, "new_user_group": true, "user_group": ${JSON.stringify(aUserGroup())}}`;
      const failure = failureOf({ body }, { operation });
      expect(failure.code).toBe(code);
      expect(failure.message).toContain(message);
    }
  });

  test("an answer deeper than the stack is one like any other", () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    expect(failureOf({ body: `{"success": ${deep}}` }).message).toMatch(/success is a list$/);
    expect(failureOf({ body: `{"success": 1, "user_group": ${deep}}` }).code).toBe("BAD_RESPONSE");
  });

  test.each(["[]", '"1"', "1", "null", "{}", '{"new_user_group": true}'])("%s is no answer", (body) => {
    for (const operation of ["GET", "POST", "DELETE"] as const) {
      expect(failureOf({ body }, { operation }).code).toBe("BAD_RESPONSE");
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

  test("every one has a remedy", () => {
    const failure = failureOf({ status: 401, body: JSON_BODY });
    expect(failure.hint).toBe(SERVICE_FAILURES.KEY_REFUSED.remedy);
    expect(failure.message).toBe("GET was answered HTTP 401: no");
  });
});

describe("fields that the interface promises", () => {
  test.each([
    ["new_user_group", { new_user_group: "true" }],
    ["user_group", { user_group: undefined }],
    ["user_group", { user_group: [] }],
    ["user_group.token", { user_group: aUserGroup({ token: undefined }) }],
    ["user_group.token", { user_group: aUserGroup({ token: "" }) }],
    ["user_group.token", { user_group: aUserGroup({ token: "a\0b" }) }],
    ["user_group.token", { user_group: aUserGroup({ token: "half \ud800" }) }],
    ["user_group.token", { user_group: aUserGroup({ token: "x".repeat(8193) }) }],
    ["user_group.team_id", { user_group: aUserGroup({ team_id: "7" }) }],
    ["user_group.team_id", { user_group: aUserGroup({ team_id: 1.5 }) }],
    ["user_group.team_id", { user_group: aUserGroup({ team_id: 1e300 }) }],
    ["user_group.name", { user_group: aUserGroup({ name: null }) }],
    [
      "new_user_group, user_group.team_id, user_group.token, user_group.name, user_group.provided_id",
      { new_user_group: undefined, user_group: {} },
    ],
  ])("are insisted on: %s", (fields, overrides) => {
    const body = JSON.stringify({ success: 1, new_user_group: true, user_group: aUserGroup(), ...overrides });
    const failure = failureOf({ body });
    expect(failure.code).toBe("BAD_RESPONSE");
    expect(failure.message).toBe(`GET was answered HTTP 200 without a good ${fields}`);
  });

  test.each([
    "user_group",
    "user_group.token",
    "user_group.team_id",
    "user_group.name",
    "user_group.provided_id",
  ])("are insisted on in an answer to POST, and a token may have died: %s", (field) => {
    const [, member] = field.split(".");
    const user_group = member === undefined ? undefined : aUserGroup({ [member]: undefined });
    const body = JSON.stringify({ success: 1, user_group });
    const failure = failureOf({ body }, { operation: "POST" });
    expect(failure).toMatchObject({ code: "BAD_RESPONSE", mayHaveHappened: true });
    expect(failure.message).toBe(`POST was answered HTTP 200 without a good ${field}`);
  });

  test("a group that nobody asked for is not believed", () => {
    const body = JSON.stringify({
      success: 1,
      new_user_group: true,
      user_group: aUserGroup({ provided_id: "globex" }),
    });
    for (const operation of ["GET", "POST"] as const) {
      const failure = failureOf({ body }, { operation });
      expect(failure.code).toBe("BAD_RESPONSE");
      expect(failure.message).toBe(`${operation} was answered HTTP 200 about another user group`);
    }
  });
});

describe("the service's own words", () => {
  test.each(["message", "error", "detail", "reason"])("are repeated from %s", (key) => {
    expect(said({ success: 0, [key]: "name is too long" })).toBe(
      "GET was answered HTTP 422: name is too long",
    );
  });

  test("are left out where they are no text", () => {
    expect(said({ success: 0, error: { token: TOKEN } })).toBe("GET was answered HTTP 422: success is 0");
    expect(said({ code: 17 })).toBe("GET was answered HTTP 422");
  });

  test("have no secrets", () => {
    expect(said({ error: `token ${TOKEN} is taken` })).toBe("GET was answered HTTP 422: token […] is taken");
    expect(said({ error: `bad key '${KEY}'` })).toBe("GET was answered HTTP 422: bad key '[…]'");
    expect(said({ error: "token sk_1a2 belongs to bQtaYnmz" })).toBe(
      "GET was answered HTTP 422: token […] belongs to […]",
    );
    const current = new Secret("a:b:c");
    const failure = failureOf(
      { status: 404, body: '{"error": "no group has a:b:c"}' },
      { operation: "DELETE", secrets: [current] },
    );
    expect(failure.message).toBe("DELETE was answered HTTP 404: no group has […]");
    expect(failureOf({ body: JSON.stringify({ success: TOKEN }) }).message).not.toContain(TOKEN);
  });

  test.each<[string, (secret: string) => string]>([
    ["quoted", (secret) => JSON.stringify(secret)],
    ["in a url", encodeURIComponent],
    ["in base64", (secret) => Buffer.from(secret).toString("base64")],
    ["in base64 for urls", (secret) => Buffer.from(secret).toString("base64url")],
    ["in hexadecimal", (secret) => Buffer.from(secret).toString("hex")],
  ])("have no secret %s, however short it is", (_, write) => {
    const secret = 'k"/ü+?>';
    const failure = failureOf(
      { status: 404, body: JSON.stringify({ error: `who is ${write(secret)}` }) },
      { secrets: [new Secret(secret)] },
    );
    expect(failure.message).toMatch(/^GET was answered HTTP 404: who is "?\[…]/);
    expect(failure.message).not.toContain(write(secret));
  });

  test("have no token that came in the same answer", () => {
    expect(said({ success: 0, user_group: { token: "new 1" }, error: "new 1 is in use" })).toBe(
      "GET was answered HTTP 422: […] is in use",
    );
  });

  test("have no part of a secret where they are cut", () => {
    const message = said({ error: `${"word ".repeat(58)}${TOKEN}` });
    expect(message).toMatch(/word \[…\]?…?$/);
  });

  test("may name the group, however long its id is", () => {
    const id = "b2f7e1f0-0c8e-4b8e-9a52-1f6f3a1d7c11";
    const failure = failureOf(
      { status: 422, body: JSON.stringify({ error: `no mapping for ${id}` }) },
      { id },
    );
    expect(failure.message).toContain(id);
  });

  test("can't take over a terminal or a log line", () => {
    expect(said({ error: "a\u001b[mb\r\nc\u202ed\u0085e" })).toBe("GET was answered HTTP 422: a [mb c d e");
  });

  test("a redirect is told without its path and its query", () => {
    const failure = failureOf({ status: 302, body: "", location: "https://login.test/sso?token=abc" });
    expect(failure.message).toBe(
      "GET was answered HTTP 302 with an empty body, a redirect to https://login.test",
    );
    expect(failureOf({ status: 302, body: "", location: "/login?key=abc" }).message).toMatch(/another path$/);
    for (const host of [KEY, "x".repeat(32)]) {
      expect(failureOf({ status: 302, body: "", location: `https://${host}.test/` }).message).toMatch(
        /another host$/,
      );
    }
  });
});

test("whatever comes: a failure with a code and a remedy, and no secret in it", () => {
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
      (wire, operation) => {
        try {
          read(wire, { operation, secrets: [new Secret(secret), new Secret(KEY)] });
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
    { numRuns: 2000 },
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
  ])("as a date is measured on the service's clock where that is told: %j", (date, ms) => {
    const retryAfter = "Sun, 01 Mar 2026 12:30:00 GMT";
    expect(failureOf({ status: 429, retryAfter, date, body: "" }).retryAfterMs).toBe(ms);
    expect(failureOf({ status: 429, retryAfter: "7", date, body: "" }).retryAfterMs).toBe(7_000);
  });

  test("is told to the one who has to wait, and to nobody else", () => {
    expect(failureOf({ status: 429, retryAfter: "7", body: "" }).retryAfterMs).toBe(7000);
    expect(failureOf({ status: 503, retryAfter: "7", body: "" }).retryAfterMs).toBe(7000);
    expect(failureOf({ status: 429, body: "" }).retryAfterMs).toBeUndefined();
    expect(failureOf({ status: 500, retryAfter: "7", body: "" }).retryAfterMs).toBeUndefined();
  });
});
