import { describe, expect, test } from "vitest";
import type { SandboxOptions } from "../../src/sandbox/server.ts";
import { retryAfterValue } from "../../src/sandbox/user-group-api.ts";
import { aClient, aGroup, aSandbox, type Client } from "./client.ts";

/** The status of an answer, or "cut". */
const outcome = (client: Client, body: unknown = aGroup(), method = "GET"): Promise<number | "cut"> =>
  client.call(method, body).then(
    ({ status }) => status,
    () => "cut" as const,
  );

const outcomes = async (options: SandboxOptions, requests: number): Promise<(number | "cut")[]> => {
  const { client } = await aSandbox(options);
  const seen: (number | "cut")[] = [];
  for (let i = 0; i < requests; i++) seen.push(await outcome(client, aGroup({ user_group_id: `t-${i}` })));
  return seen;
};

const held = async (client: Client) => (await client.page("/sandbox/groups")).json.groups;

describe("a fault that hits a share of the requests", () => {
  test.each([200, 400, 403])(
    "html: an intermediary's page with status %i, nothing done",
    async (htmlStatus) => {
      const { client } = await aSandbox({ shares: { html: 1 }, htmlStatus });
      const { status, headers, text } = await client.call("GET", aGroup());
      expect(status).toBe(htmlStatus);
      expect(headers["content-type"]).toMatch("text/html");
      expect(text).toContain("<html>");
      expect(await held(client)).toEqual([]);
    },
  );

  test("hits the same requests with the same seed, and other requests with another seed", async () => {
    const shares = { fail: 0.3, "cut-before": 0.2, "cut-after": 0.2, html: 0.2 };
    const first = await outcomes({ shares, seed: 1 }, 40);
    expect(new Set(first)).toEqual(new Set([200, 403, 500, "cut"]));
    expect(await outcomes({ shares, seed: 1 }, 40)).toEqual(first);
    expect(await outcomes({ shares, seed: 2 }, 40)).not.toEqual(first);
  });

  test("never hits the sandbox's own pages", async () => {
    const { client } = await aSandbox({ shares: { fail: 1 }, rateLimit: { count: 1, perMs: 60_000 } });
    for (let i = 0; i < 3; i++) expect((await client.page("/sandbox/requests")).status).toBe(200);
  });
});

describe("the rate limit", () => {
  const rateLimit = { count: 2, perMs: 3_600_000 };

  test("answers 429 beyond the limit, and says when to retry", async () => {
    const { client } = await aSandbox({ rateLimit });
    expect([await outcome(client), await outcome(client)]).toEqual([200, 200]);
    const { status, headers, json } = await client.call("GET", aGroup());
    expect(status).toBe(429);
    expect(json.success).toBe(0);
    expect(Number(headers["retry-after"])).toBeGreaterThan(3500);
  });

  test.each([
    ["date", /GMT$/],
    ["none", undefined],
  ] as const)("retry-after: %s", async (retryAfter, expected) => {
    const { client } = await aSandbox({ rateLimit: { ...rateLimit, count: 1 }, retryAfter });
    await outcome(client);
    const { headers } = await client.call("GET", aGroup());
    if (expected) expect(headers["retry-after"]).toMatch(expected);
    else expect(headers).not.toHaveProperty("retry-after");
  });

  test("never gives a Retry-After that is too early", () => {
    const now = Date.UTC(2026, 0, 1, 12, 0, 0, 300);
    expect(retryAfterValue("seconds", 1200, now)).toBe("2");
    expect(retryAfterValue("date", 1200, now)).toBe("Thu, 01 Jan 2026 12:00:02 GMT");
  });
});

describe("the concurrency limit", () => {
  test("refuses further requests at once, without Retry-After", async () => {
    const { client } = await aSandbox({ concurrencyLimit: 2, latency: { min: 300, max: 300 } }, 5);
    const replies = await Promise.all(
      ["a", "b", "c", "d", "e"].map((id) => client.call("GET", aGroup({ user_group_id: id }))),
    );
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 200, 429, 429, 429]);
    for (const { status, headers } of replies)
      if (status === 429) expect(headers).not.toHaveProperty("retry-after");
    expect((await client.page("/sandbox/requests")).json).toMatchObject({ total: 5, refused: 3 });
    expect(await held(client)).toHaveLength(2);
    expect(await outcome(client)).toBe(200);
  });

  test.each([
    ["a failure", { fail: 1 }],
    ["a cut connection", { "cut-before": 1 }],
    ["a lost answer", { "cut-after": 1 }],
    ["an intermediary's page", { html: 1 }],
  ])("doesn't count a request after its end: %s", async (_, shares) => {
    const { client } = await aSandbox({ concurrencyLimit: 1, shares });
    const first = await outcome(client);
    expect([await outcome(client), await outcome(client)]).toEqual([first, first]);
    expect(first).not.toBe(429);
  });

  test("counts a request that never ends until its client has left", async () => {
    const sandbox = await aSandbox({ concurrencyLimit: 1, poison: new Map([["bad", "hang"]]) });
    const impatient = aClient(sandbox);
    const waiting = impatient.call("GET", aGroup({ user_group_id: "bad" })).catch(() => undefined);
    await expect.poll(() => outcome(sandbox.client)).toBe(429);
    await impatient.destroy();
    await waiting;
    await expect.poll(() => outcome(sandbox.client)).toBe(200);
  });
});

describe("a poisoned group", () => {
  const poisoned = (fault: "500" | "403" | "success0" | "hang" | "html" | "missing-field") =>
    aSandbox({ poison: new Map([["bad", fault]]) });

  test.each([
    ["500", 500, { success: 0 }],
    ["403", 403, { success: 0 }],
    ["success0", 200, { success: 0 }],
    ["html", 403, undefined],
  ] as const)("%s: status %i, nothing done", async (fault, status, json) => {
    const { client } = await poisoned(fault);
    const answer = await client.call("GET", aGroup({ user_group_id: "bad" }));
    expect(answer.status).toBe(status);
    if (json) expect(answer.json).toMatchObject(json);
    else expect(answer.text).toContain("<html>");
    expect(await held(client)).toEqual([]);
  });

  test("missing-field: done, but the answer lacks the token", async () => {
    const { client } = await poisoned("missing-field");
    const { json } = await client.call("GET", aGroup({ user_group_id: "bad" }));
    expect(json).toMatchObject({ success: 1, user_group: { provided_id: "bad" } });
    expect(json.user_group).not.toHaveProperty("token");
    const [group] = await held(client);
    const removed = await client.call("DELETE", { user_group_id: "bad", current_token: group.token });
    expect(removed.json).toEqual({});
    expect(await held(client)).toEqual([]);
  });

  test("is also recognised by its token", async () => {
    const { client } = await poisoned("missing-field");
    await client.call("GET", aGroup({ user_group_id: "bad" }));
    const [{ token }] = await held(client);
    const rotated = await client.call("POST", { current_token: token });
    expect(rotated.json.user_group).not.toHaveProperty("token");
  });
});
