import { once } from "node:events";
import type { OutgoingHttpHeaders } from "node:http";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { MAX_ID_BYTES } from "../../../src/core/group/tenant.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import { serve } from "../../../src/daemon/http/http-server.ts";
import { plain, type Routes } from "../../../src/daemon/http/routes.ts";
import { REPLY_STATUSES, syncRequests } from "../../../src/daemon/http/sync-requests.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import type { LogEntry } from "../../../src/ports/log.ts";
import type { Served, ServeTenant } from "../../../src/ports/serve-tenant.ts";
import { anyText } from "../../builders/arbitraries.ts";
import { ask, connected } from "./client.ts";

const KEY = "a-key-of-24-characters-0";
const DONE: Served = { kind: "done", outcome: "created" };

/** However slow the machine is. */
const eventually = <T>(look: () => T) => expect.poll(look, { timeout: 60_000 });

/** However long: the wait isn't over. */
const untilAborted: Clock["sleep"] = (_, signal) =>
  new Promise((resolve) => signal?.addEventListener("abort", () => resolve()));

/** A server with the route. `served` has what `serveTenant` was called with. */
async function aRoute(serveTenant: ServeTenant = async () => DONE, sleep: Clock["sleep"] = untilAborted) {
  const config: { key: string | undefined } = { key: KEY };
  const stopping = new AbortController();
  const log: LogEntry[] = [];
  const statuses: number[] = [];
  const served: [id: string, waitMs: number][] = [];
  const syncRoutes = syncRequests(
    {
      clock: { sleep },
      serveTenant: (id, waitMs, signal) => {
        served.push([id, waitMs]);
        return serveTenant(id, waitMs, signal);
      },
      log: (entry) => log.push(entry),
      onReply: (status) => statuses.push(status),
    },
    stopping.signal,
  );
  const routes = (): Routes => ({
    "/healthz": { page: () => plain(200, "ok"), forAnyHost: true },
    ...syncRoutes(config.key === undefined ? undefined : new Secret(config.key)),
  });
  const server = await serve({ host: "127.0.0.1", port: 0 }, routes);
  onTestFinished(() => server.close());
  const post = async (path: string, headers: OutgoingHttpHeaders = {}, body?: string) => {
    const answer = await ask(server, path, {
      method: "POST",
      headers: { authorization: `Bearer ${KEY}`, ...headers },
      ...(body !== undefined && { body }),
    });
    expect(answer.headers).toMatchObject({
      "content-type": "application/json",
      "cache-control": "no-store",
    });
    return { ...answer, json: JSON.parse(answer.body) };
  };
  return { server, config, stopping, log, statuses, served, post };
}

/** Tenants that are served only once the test says so, or that nobody waits for any more. */
function pendingTenants() {
  const waiting = new Map<string, (served: Served) => void>();
  const serveTenant: ServeTenant = (id, _, signal) =>
    new Promise((resolve) => {
      signal.addEventListener("abort", () => resolve({ kind: "pending" }));
      const others = waiting.get(id);
      waiting.set(id, (served) => {
        others?.(served);
        resolve(served);
      });
    });
  return { waiting, serveTenant };
}

const path = (id: string): string => `/sync/${encodeURIComponent(id)}`;

/** The bytes of a POST, without its body. */
const head = (target: string, ...headers: readonly string[]): string =>
  [`POST ${target} HTTP/1.1`, "Host: localhost", `Authorization: Bearer ${KEY}`, ...headers, "", ""].join(
    "\r\n",
  );

describe("a tenant is served", () => {
  test("and the reply says what became of it", async () => {
    const { post, served } = await aRoute();
    expect(await post("/sync/107")).toMatchObject({
      status: 200,
      json: { user_group_id: "107", outcome: "created" },
    });
    expect(served).toEqual([["107", 10_000]]);
  });

  test.each<[Served, number]>([
    [{ kind: "pending" }, 202],
    [{ kind: "unknown" }, 404],
    [{ kind: "conflict", outcome: "held", code: "DELETION_HELD", message: "held" }, 409],
    [{ kind: "failed", code: "TIMEOUT", message: "no answer" }, 503],
  ])("or isn't: %j has the status %d", async (outcome, status) => {
    const { post } = await aRoute(async () => outcome);
    const reply = await post("/sync/107");
    expect(reply.status).toBe(status);
    expect(reply.json).toHaveProperty("outcome");
    if (status === 503) expect(reply.headers["retry-after"]).toBe("5");
  });

  test("whatever text its id is, and whatever bytes of it are percent-encoded", async () => {
    const { post, served } = await aRoute();
    await fc.assert(
      fc.asyncProperty(anyText({ minLength: 1, maxLength: 40 }), async (id) => {
        expect((await post(path(id))).json).toMatchObject({ user_group_id: id });
        const bytes = [...Buffer.from(id)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`);
        await post(`/sync/${bytes.join("")}`);
        expect(served.slice(-2).map(([served]) => served)).toEqual([id, id]);
      }),
    );
  });

  test("and invisible characters of its id are shown in the reply, which stands for the same id", async () => {
    const { post } = await aRoute();
    const id = "a\u202eb\u200b\n🍕";
    const { body, json } = await post(path(id));
    expect(body).toMatch(/^[ -~]*🍕[ -~]*\n$/u);
    expect(json).toMatchObject({ user_group_id: id });
  });

  test("for whoever has the key, in any form of the header", async () => {
    const { config, post } = await aRoute();
    for (const scheme of ["bearer", "BEARER  "])
      expect(await post("/sync/107", { authorization: `${scheme} ${KEY}` })).toMatchObject({ status: 200 });
    config.key = "schlüssel-🔑-schlüssel";
    const authorization = Buffer.from(`Bearer ${config.key}`).toString("latin1");
    expect(await post("/sync/107", { authorization })).toMatchObject({ status: 200 });
  });

  test("and waited for as long as the request says", async () => {
    const { post, served } = await aRoute();
    for (const query of ["?wait=0", "?wait=500ms&x=y", "?wait=1m", "?"]) await post(`/sync/107${query}`);
    expect(served.map(([, waitMs]) => waitMs)).toEqual([0, 500, 60_000, 10_000]);
  });

  test("and waited for no longer, even if a ledger is asked that doesn't answer", async () => {
    const sleeps: number[] = [];
    const { post } = await aRoute(
      () => new Promise(() => {}),
      async (ms) => {
        sleeps.push(ms);
      },
    );
    expect(await post("/sync/107?wait=1s")).toMatchObject({ status: 202, json: { outcome: "pending" } });
    expect(sleeps).toEqual([6_000]);
  });
});

describe("a request is refused", () => {
  const ids = ["", "a/b", "a/", "%", "%zz", "%FF", "%F0%9F", "%C0%AF", "%ED%A0%80"];
  const waits = ["wait", "wait=", "wait=10", "wait=61s", "wait=-1s", "wait=1e9s", "wait=1s&wait=2s"];

  test.each([
    ...ids.map((id) => [`an id that can't be read: /sync/${id}`, `/sync/${id}`, "percent-encoded"]),
    ...waits.map((query) => [`a wait that isn't one: ${query}`, `/sync/107?${query}`, "up to 60s"]),
  ] as const)("with %s", async (_, target, message) => {
    const { post, served } = await aRoute();
    expect(await post(target)).toMatchObject({
      status: 400,
      json: { message: expect.stringContaining(message) },
    });
    expect(served).toEqual([]);
  });

  test("as for an unknown tenant if no row can have the id, without a look", async () => {
    const { post, served } = await aRoute();
    for (const id of ["x".repeat(MAX_ID_BYTES + 1), "🍕".repeat(MAX_ID_BYTES / 4 + 1)])
      expect(await post(path(id))).toMatchObject({ status: 404, json: { outcome: "unknown" } });
    expect(served).toEqual([]);
  });

  test("in the same way with every wrong key, whatever else is wrong", async () => {
    const { server, served } = await aRoute();
    const wrong: readonly OutgoingHttpHeaders[] = [
      {},
      { authorization: "" },
      { authorization: "Bearer" },
      { authorization: "Bearer x" },
      { authorization: `Token ${KEY}` },
      { authorization: `Bearer ${KEY}x` },
      { authorization: `Bearer ${KEY.slice(1)}` },
      { authorization: `Bearer${KEY}` },
      { authorization: `Bearer ${KEY.toUpperCase()}` },
      { authorization: `Bearer ${KEY}, Bearer ${KEY}` },
      { authorization: [`Bearer ${KEY}`, `Bearer ${KEY}`] as unknown as string },
      { authorization: ["Bearer x", `Bearer ${KEY}`] as unknown as string },
      { "x-authorization": `Bearer ${KEY}` },
    ];
    const bodies = new Set<string>();
    for (const headers of wrong)
      for (const target of ["/sync/107", "/sync/", "/sync/%", `/sync/${"x".repeat(600)}`, "/sync/1?wait=x"]) {
        const answer = await ask(server, target, { method: "POST", headers });
        expect(answer).toMatchObject({ status: 401, headers: { "www-authenticate": "Bearer" } });
        bodies.add(answer.body);
      }
    expect([...bodies]).toEqual([
      '{"message":"send the key of http.sync_key once, in the header Authorization: Bearer KEY"}\n',
    ]);
    expect(served).toEqual([]);
  });

  test("while a hundred others wait, and pages are shown all the same", async () => {
    const { waiting, serveTenant } = pendingTenants();
    const { server, post, served } = await aRoute(serveTenant);
    const replies = Array.from({ length: 100 }, (_, n) => post(`/sync/${n}`));
    await eventually(() => served.length).toBe(100);
    expect(await post("/sync/one-more")).toMatchObject({ status: 429, headers: { "retry-after": "1" } });
    expect(await ask(server, "/healthz")).toMatchObject({ status: 200 });
    waiting.get("7")?.(DONE);
    expect(await replies[7]).toMatchObject({ status: 200 });
    const next = post("/sync/next");
    await eventually(() => waiting.has("next")).toBe(true);
    for (const resolve of waiting.values()) resolve(DONE);
    expect(await next).toMatchObject({ status: 200 });
    await Promise.all(replies);
  });

  test("from another host's page, and under a name that isn't this server's", async () => {
    const { server, served } = await aRoute();
    const statusWith = async (headers: OutgoingHttpHeaders) =>
      (
        await ask(server, "/sync/107", {
          method: "POST",
          headers: { authorization: `Bearer ${KEY}`, ...headers },
        })
      ).status;
    for (const origin of [
      "https://evil.example.com",
      "http://localhost:1",
      "null",
      "",
      "localhost",
      "https://localhost.evil",
    ])
      expect(await statusWith({ origin, host: "localhost" })).toBe(403);
    expect(await statusWith({ host: "evil.example.com" })).toBe(421);
    expect(served).toEqual([]);
    expect(await statusWith({ origin: "https://localhost:8443", host: "LocalHost:8443" })).toBe(200);
  });
});

describe("the route", () => {
  test.each(["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"])("takes no %s", async (method) => {
    const { server, served } = await aRoute();
    const headers = { authorization: `Bearer ${KEY}` };
    for (const target of ["/sync/107", "/sync/"])
      expect(await ask(server, target, { method, headers })).toMatchObject({
        status: 405,
        headers: { allow: "POST" },
      });
    expect(served).toEqual([]);
  });

  test("is none without a key, for whatever method", async () => {
    const { server, config, served } = await aRoute();
    expect((await ask(server, "/nowhere")).body).toBe("there is /healthz, /sync/{user_group_id}\n");
    config.key = undefined;
    for (const method of ["POST", "GET"])
      for (const authorization of ["", "Bearer", "Bearer undefined", `Bearer ${KEY}`])
        expect(await ask(server, "/sync/107", { method, headers: { authorization } })).toMatchObject({
          status: 404,
          body: "there is /healthz\n",
        });
    expect(served).toEqual([]);
  });

  test.each(["/sync", "/Sync/107", "//sync/107", "/sync%2F107", "/x/sync/107", "http://localhost/sync/107"])(
    "is not %s",
    async (target) => {
      const { server } = await aRoute();
      expect(await ask(server, target, { method: "POST" })).toMatchObject({ status: 404 });
    },
  );
});

test("every reply is counted by its status, and no other status comes", async () => {
  const outcomes: Served[] = [
    DONE,
    { kind: "pending" },
    { kind: "unknown" },
    { kind: "conflict", outcome: "held", code: "X", message: "x" },
    { kind: "failed", code: "X", message: "x" },
  ];
  const { waiting, serveTenant } = pendingTenants();
  const { post, served, statuses } = await aRoute(async (id, ...more) =>
    id === "waits" ? serveTenant(id, ...more) : (outcomes.shift() ?? DONE),
  );
  for (let n = 0; n < 5; n++) await post("/sync/107", {}, "a body that nobody reads");
  await post("/sync/");
  await post("/sync/107", { authorization: "Bearer x" });
  const replies = Array.from({ length: 100 }, () => post("/sync/waits"));
  await eventually(() => served.length).toBe(105);
  await post("/sync/107");
  waiting.get("waits")?.(DONE);
  await Promise.all(replies);
  expect([...new Set(statuses)].sort()).toEqual(REPLY_STATUSES);
  expect(statuses).toHaveLength(108);
});

describe("a client", () => {
  test("that sends its body slowly has its reply before", async () => {
    const { server, served } = await aRoute();
    const slow = await connected(server);
    slow.write(`${head("/sync/107", "Content-Length: 10")}half`);
    const [data] = await once(slow, "data");
    expect(String(data)).toMatch(/^HTTP\/1\.1 200 /);
    expect(served).toHaveLength(1);
  });

  test("that goes away leaves its place to others, and its tenant is served all the same", async () => {
    const { waiting, serveTenant } = pendingTenants();
    const { server, post, served } = await aRoute(async (id, waitMs, signal) =>
      id === "next" ? DONE : serveTenant(id, waitMs, signal),
    );
    const leaving = await Promise.all(Array.from({ length: 100 }, () => connected(server)));
    for (const [n, socket] of leaving.entries()) socket.write(head(`/sync/${n}`, "Content-Length: 0"));
    await eventually(() => served.length).toBe(100);
    expect(await post("/sync/next")).toMatchObject({ status: 429 });
    const [first, second] = leaving;
    first?.end();
    await eventually(async () => (await post("/sync/next")).status).toBe(200);
    second?.resetAndDestroy();
    for (const resolve of waiting.values()) resolve(DONE);
  });
});

describe("a wait", () => {
  test("ends at once when groupsync stops, and none begins afterwards", async () => {
    const { waiting, serveTenant } = pendingTenants();
    const { post, served, stopping } = await aRoute(serveTenant);
    const replies = ["a", "b"].map((id) => post(`/sync/${id}`));
    await eventually(() => waiting.size).toBe(2);
    stopping.abort();
    const stopped = { status: 503, headers: { "retry-after": "5" }, json: { code: "INTERRUPTED" } };
    for (const reply of await Promise.all(replies)) expect(reply).toMatchObject(stopped);
    expect(await post("/sync/c")).toMatchObject(stopped);
    expect(served).toHaveLength(2);
  });

  test("that ends with the server gets its reply before the connection is cut", async () => {
    const { waiting, serveTenant } = pendingTenants();
    const { server, post, stopping } = await aRoute(serveTenant);
    const reply = post("/sync/a");
    await eventually(() => waiting.size).toBe(1);
    stopping.abort();
    await Promise.all([server.close(), expect(reply).resolves.toMatchObject({ status: 503 })]);
  });
});

describe("what fails", () => {
  test("is told with its code and message", async () => {
    const { post, log } = await aRoute(async () => {
      throw new SyncError("SOURCE_UNAVAILABLE", "cannot read customers: connection refused");
    });
    expect(await post("/sync/107")).toMatchObject({
      status: 503,
      json: {
        outcome: "failed",
        code: "SOURCE_UNAVAILABLE",
        message: "cannot read customers: connection refused",
      },
    });
    expect(log).toEqual([]);
  });

  test("by a mistake in groupsync is told to the log alone", async () => {
    const { post, log } = await aRoute(async () => {
      throw new TypeError("SELECT 'secret'");
    });
    const reply = await post("/sync/a%0Ab");
    expect(reply).toMatchObject({ status: 503, json: { outcome: "failed", code: "INTERNAL" } });
    expect(reply.body).not.toContain("secret");
    expect(log).toEqual([
      { level: "error", code: "INTERNAL", message: "cannot serve a\\nb: SELECT 'secret'" },
    ]);
  });
});
