import { expect, test } from "vitest";
import { limitHeaders } from "../../../src/adapters/service/limit-headers.ts";
import { Secret } from "../../../src/core/secret/secret.ts";

const KEY = "key-7";

const shown = (headers: Record<string, string | string[]>): string[] =>
  limitHeaders(headers, [new Secret(KEY)]).map(({ name, value }) => `${name}: ${value}`);

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
      "x-ratelimit-key": `of ${KEY}`,
      "x-ratelimit-for": "ugt_0123456789abcdef0123456789",
      "x-ratelimit-limit": "1\u001b[31m",
    }),
  ).toEqual(["x-ratelimit-key: [hidden]", "x-ratelimit-for: [hidden]", "x-ratelimit-limit: 1\\u001b[31m"]);
});
