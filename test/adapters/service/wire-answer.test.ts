import { describe, expect, test } from "vitest";
import { limitHeaders } from "../../../src/adapters/service/wire-answer.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import { failureOf, KEY, TOKEN } from "./an-answer.ts";

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

const LIMIT_KEY = "key-7";

const shown = (headers: Record<string, string | string[]>): string[] =>
  limitHeaders(headers, [new Secret(LIMIT_KEY)]).map(({ name, value }) => `${name}: ${value}`);

test("headers that tell of a limit are found, and no others", () => {
  expect(
    shown({
      "content-type": "application/json",
      "x-ratelimit-limit": "180",
      "X-RateLimit-Remaining": "7",
      "x-rate-limit-reset": "1763913600",
      ratelimit: '"default";r=50;t=30',
      "ratelimit-policy": '"default";q=100;w=60',
      "x-quota-left": "3",
      "retry-after": "Mon, 23 Nov 2026 18:00:00 GMT",
      "x-request-id": "4f1c2d",
      "set-cookie": ["a=1", "b=2"],
    }),
  ).toEqual([
    "x-ratelimit-limit: 180",
    "x-ratelimit-remaining: 7",
    "x-rate-limit-reset: 1763913600",
    'ratelimit: "default";r=50;t=30',
    'ratelimit-policy: "default";q=100;w=60',
    "x-quota-left: 3",
    "retry-after: Mon, 23 Nov 2026 18:00:00 GMT",
  ]);
});

test("a value that may hold a secret is hidden", () => {
  expect(
    shown({
      "x-ratelimit-key": `of ${LIMIT_KEY}`,
      "x-ratelimit-for": "ugt_0123456789abcdef0123456789",
      "x-ratelimit-limit": "1\u001b[31m",
    }),
  ).toEqual(["x-ratelimit-key: [hidden]", "x-ratelimit-for: [hidden]", "x-ratelimit-limit: 1\\u001b[31m"]);
});
