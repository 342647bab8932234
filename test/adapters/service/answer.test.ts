import { describe, expect, test } from "vitest";
import {
  readGetAnswer,
  readPostAnswer,
  successfulBody,
  type WireAnswer,
  type WireRequest,
} from "../../../src/adapters/service/answer.ts";
import { remedyOf } from "../../../src/core/failure/error-codes.ts";
import { ServiceFailure } from "../../../src/core/failure/service-failure.ts";
import { Secret } from "../../../src/core/secret/secret.ts";

const NOW = new Date("2026-03-01T12:00:00Z");
const TOKEN = "ugt_0123456789abcdef0123456789";
/** So short that no pattern could tell that it is a key. */
const KEY = "key-7";

const anAnswer = (overrides: Partial<WireAnswer> = {}): WireAnswer => ({
  status: 200,
  contentType: "application/json",
  contentEncoding: undefined,
  date: undefined,
  retryAfter: undefined,
  location: undefined,
  body: aBody(),
  ...overrides,
});

const aBody = (overrides: object = {}): string =>
  JSON.stringify({ success: 1, new_user_group: true, user_group: aUserGroup(), ...overrides });

const aUserGroup = (overrides: object = {}): object => ({
  team_id: 7,
  token: TOKEN,
  name: "Acme",
  provided_id: "acme",
  ...overrides,
});

const aRequest = (overrides: Partial<WireRequest> = {}): WireRequest => ({
  method: "GET",
  id: "acme",
  receivedAt: NOW,
  apiKey: new Secret(KEY),
  secrets: [new Secret(KEY)],
  ...overrides,
});

const READERS = { GET: readGetAnswer, POST: readPostAnswer, DELETE: successfulBody };

/** Reads an answer to a request by its method. */
const read = (answer: Partial<WireAnswer>, request: Partial<WireRequest> = {}): unknown =>
  READERS[request.method ?? "GET"](anAnswer(answer), aRequest(request));

/** The failure that an answer is read as. */
function failureOf(answer: Partial<WireAnswer>, request: Partial<WireRequest> = {}): ServiceFailure {
  try {
    read(answer, request);
  } catch (error) {
    if (error instanceof ServiceFailure) return error;
    throw error;
  }
  throw new Error("the answer was believed");
}

describe("a good answer", () => {
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
    const group = readPostAnswer(anAnswer({ body }), aRequest({ method: "POST" }));
    expect(group).toEqual({ teamId: 7, token: new Secret(TOKEN), name: "Acme" });
    expect(group.token.reveal()).toBe(TOKEN);
  });

  test("to DELETE: success is enough", () => {
    expect(read({ body: '{"success": 1}' }, { method: "DELETE" })).toEqual({ success: 1 });
  });

  test("is taken without the token and the API key that the group's name has in it", () => {
    const apiKey = new Secret("the-api-key");
    const name = `Acme ${TOKEN} of the-api-key`;
    const body = aBody({ user_group: aUserGroup({ name }) });
    const { group } = readGetAnswer(anAnswer({ body }), aRequest({ apiKey }));
    expect([group.name, group.token.reveal()]).toEqual(["Acme […] of […]", TOKEN]);
    expect(readPostAnswer(anAnswer({ body }), aRequest({ method: "POST", apiKey })).name).toBe(group.name);
    const short = new Secret("Acme");
    expect(readGetAnswer(anAnswer(), aRequest({ apiKey: short })).group.name).toBe("Acme");
  });

  test("may have fields that nobody knows", () => {
    const body = aBody({
      new_user_group: false,
      user_group: aUserGroup({ is_demo_group: false, properties: null }),
      api_environment_tag: "production",
    });
    expect(read({ status: 201, body })).toMatchObject({ isNew: false });
  });
});

describe("an answer without a field that interface.md promises", () => {
  test.each([
    ["new_user_group", { new_user_group: "true" }],
    ["user_group", { user_group: undefined }],
    ["user_group", { user_group: [] }],
    ["user_group.token", { user_group: aUserGroup({ token: undefined }) }],
    ["user_group.token", { user_group: aUserGroup({ token: "" }) }],
    ["user_group.token", { user_group: aUserGroup({ token: "a\0b" }) }],
    ["user_group.token", { user_group: aUserGroup({ token: "half \ud800" }) }],
    ["user_group.token", { user_group: aUserGroup({ token: " \u3000" }) }],
    ["user_group.token", { user_group: aUserGroup({ token: `${TOKEN}\n` }) }],
    ["user_group.token", { user_group: aUserGroup({ token: "a\u0085b" }) }],
    ["user_group.token", { user_group: aUserGroup({ token: "a\u202eb" }) }],
    ["user_group.token", { user_group: aUserGroup({ token: "a\u200bb" }) }],
    ["user_group.token", { user_group: aUserGroup({ token: "\u2800" }) }],
    ["user_group.token", { user_group: aUserGroup({ token: "a\ufe0f" }) }],
    ["user_group.token", { user_group: aUserGroup({ token: "a\u2028b" }) }],
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
    const body = aBody(overrides);
    const failure = failureOf({ body });
    expect(failure.code).toBe("BAD_RESPONSE");
    expect(failure.message).toBe(`GET was answered HTTP 200 without a good ${fields}`);
  });

  test("are insisted on in an answer to POST, and a token may have died", () => {
    const body = JSON.stringify({ success: 1, user_group: aUserGroup({ token: undefined }) });
    const failure = failureOf({ body }, { method: "POST" });
    expect(failure).toMatchObject({ code: "BAD_RESPONSE", mayHaveHappened: true });
    expect(failure.message).toBe("POST was answered HTTP 200 without a good user_group.token");
  });

  test.each([
    [{ provided_id: "globex" }, "about another user group"],
    // The API key is no part of a group's token.
    [{ token: KEY }, "with the API key in the group's token"],
    [{ token: ` ${KEY} ` }, "with the API key in the group's token"],
    [{ token: `Token ${KEY}` }, "with the API key in the group's token"],
  ])("an answer with a group that has %j is a bad response", (overrides, message) => {
    const body = aBody({ user_group: aUserGroup(overrides) });
    for (const method of ["GET", "POST"] as const) {
      const failure = failureOf({ body }, { method });
      expect(failure.code).toBe("BAD_RESPONSE");
      expect(failure.message).toBe(`${method} was answered HTTP 200 ${message}`);
    }
  });
});

const JSON_BODY = '{"success": 0, "error": "no"}';
const HTML = "<!DOCTYPE html><html><body>403 Forbidden</body></html>";

describe("the failure that an answer means:", () => {
  // Every body kind, in the order: JSON, HTML, text, nothing.
  test.each([
    ["GET", 400, ["REFUSED", "INTERMEDIARY_REFUSED", "BAD_RESPONSE", "BAD_RESPONSE"]],
    ["GET", 401, ["KEY_REFUSED", "KEY_REFUSED", "KEY_REFUSED", "KEY_REFUSED"]],
    ["GET", 403, ["KEY_REFUSED", "INTERMEDIARY_REFUSED", "KEY_REFUSED", "KEY_REFUSED"]],
    ["GET", 408, ["TIMEOUT", "TIMEOUT", "TIMEOUT", "TIMEOUT"]],
    ["GET", 422, ["REFUSED", "BAD_RESPONSE", "BAD_RESPONSE", "BAD_RESPONSE"]],
    ["GET", 429, ["THROTTLED", "THROTTLED", "THROTTLED", "THROTTLED"]],
    ["GET", 500, ["SERVICE_ERROR", "SERVICE_ERROR", "SERVICE_ERROR", "SERVICE_ERROR"]],
    ["GET", 503, ["OVERLOADED", "OVERLOADED", "OVERLOADED", "OVERLOADED"]],
    ["GET", 200, ["REFUSED", "BAD_RESPONSE", "BAD_RESPONSE", "BAD_RESPONSE"]],
    ["POST", 200, ["REFUSED", "BAD_RESPONSE", "BAD_RESPONSE", "BAD_RESPONSE"]],
    ["POST", 400, ["REFUSED", "BAD_RESPONSE", "BAD_RESPONSE", "BAD_RESPONSE"]],
    ["POST", 401, ["KEY_REFUSED", "KEY_REFUSED", "KEY_REFUSED", "KEY_REFUSED"]],
    ["POST", 403, ["KEY_REFUSED", "BAD_RESPONSE", "KEY_REFUSED", "KEY_REFUSED"]],
    ["DELETE", 405, ["REFUSED", "BAD_RESPONSE", "BAD_RESPONSE", "BAD_RESPONSE"]],
  ] as const)("%s %i", (method, status, codes) => {
    const kinds = [
      { body: JSON_BODY },
      { body: HTML, contentType: "text/html" },
      { body: "Not here", contentType: "text/plain" },
      { body: "", contentType: "" },
    ];
    const failures = kinds.map((kind) => failureOf({ status, ...kind }, { method }));
    expect(failures.map(({ code }) => code)).toEqual(codes);
    expect(failures.map(({ isJson }) => isJson)).toEqual([true, false, false, false]);
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
    expect(failure.hint).toBe(remedyOf("KEY_REFUSED"));
    expect(failure.message).toBe("GET was answered HTTP 401: no");
  });
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
    expect(failureOf({ status: 429, retryAfter: value, body: "" }).retryAfterMs).toBe(ms);
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
    const asked = [429, 503, 500].map((status) => failureOf({ status, retryAfter: "7", body: "" }));
    expect(asked.map(({ retryAfterMs }) => retryAfterMs)).toEqual([7_000, 7_000, undefined]);
  });
});

const said = (body: object): string => failureOf({ status: 422, body: JSON.stringify(body) }).message;

describe("the service's own words", () => {
  test.each(["message", "error", "detail", "reason"])("are repeated from %s", (key) => {
    expect(said({ success: 0, [key]: "name is too long" })).toBe(
      "GET was answered HTTP 422: name is too long",
    );
  });

  test("are left out if they are not text", () => {
    expect(said({ success: 0, error: { token: TOKEN } })).toBe("GET was answered HTTP 422: success is 0");
    expect(said({ code: 17 })).toBe("GET was answered HTTP 422");
  });

  test("are quoted without secrets", () => {
    expect(said({ error: `token ${TOKEN} is taken` })).toBe("GET was answered HTTP 422: token […] is taken");
    expect(said({ error: `bad key '${KEY}'` })).toBe("GET was answered HTTP 422: bad key '[…]'");
    expect(said({ error: "token sk_1a2 belongs to bQtaYnmz" })).toBe(
      "GET was answered HTTP 422: token […] belongs to […]",
    );
    const current = new Secret("a:b:c");
    const failure = failureOf(
      { status: 404, body: '{"error": "no group has a:b:c"}' },
      { method: "DELETE", secrets: [current] },
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

  test("are quoted without the token of the same answer", () => {
    expect(said({ success: 0, user_group: { token: "new 1" }, error: "new 1 is in use" })).toBe(
      "GET was answered HTTP 422: […] is in use",
    );
  });

  test("hold no part of a secret where they are cut", () => {
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

  test("a redirect is quoted without path and query", () => {
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
