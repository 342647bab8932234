import http from "node:http";
import { createServer, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import type { HttpServiceOptions } from "../../../src/adapters/service/http-group-service.ts";
import { HttpGroupService } from "../../../src/adapters/service/http-group-service.ts";
import {
  isSameRefusal,
  ServiceFailure,
  type ServiceFailureCode,
} from "../../../src/core/failure/service-failure.ts";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import type { RemovableGroup, ServiceGroup } from "../../../src/ports/group-service.ts";
import type { RequestReport } from "../../../src/sandbox/request-counts.ts";
import { aGroup } from "../../builders/groups.ts";
import { everythingIn } from "../../contracts/everything-in.ts";
import { aSandbox } from "../../sandbox/client.ts";
import { listening } from "../../support/servers/listening.ts";

const KEY = "the-api-key";
const TOKEN = "the-current-token";

function aService(overrides: Partial<HttpServiceOptions>): HttpGroupService {
  const service = new HttpGroupService({
    baseUrl: "http://127.0.0.1:1",
    apiKey: new Secret(KEY),
    timeoutMs: 30_000,
    concurrency: 4,
    ...overrides,
  });
  onTestFinished(() => service.close());
  return service;
}

const aRemovable = (overrides: Partial<RemovableGroup> = {}): RemovableGroup => ({
  user_group_id: "acme",
  token: new Secret(TOKEN),
  dataSourceId: null,
  ...overrides,
});

async function failureOf(call: Promise<unknown>): Promise<ServiceFailure> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ServiceFailure)) throw error ?? new Error("the call should have failed");
  expect(everythingIn(error)).not.toContain(KEY);
  expect(everythingIn(error)).not.toContain(TOKEN);
  return error;
}

const rotate = (service: HttpGroupService, beforeSend?: () => void): Promise<ServiceGroup> =>
  service.rotate("acme", new Secret(TOKEN), beforeSend);

/** How every call fails against a server that does this with each connection. */
async function failureWith(
  handle: (socket: Socket) => void,
  overrides: Partial<HttpServiceOptions> = {},
): Promise<ServiceFailure> {
  const { port } = await listening(createServer(handle));
  const service = aService({ baseUrl: `http://127.0.0.1:${port}`, ...overrides });
  const removed = await failureOf(service.remove(aRemovable()));
  const asked = await failureOf(service.getOrCreate(aGroup()));
  const rotated = await failureOf(rotate(service));
  expect([removed.code, asked.code]).toEqual([rotated.code, rotated.code]);
  return rotated;
}

describe("against the sandbox", () => {
  const aServiceOf = async (
    options: Parameters<typeof aSandbox>[0] = {},
    overrides: Partial<HttpServiceOptions> = {},
  ) => {
    const { baseUrl, apiKey, client } = await aSandbox(options);
    const service = aService({ baseUrl, apiKey: new Secret(apiKey), ...overrides });
    const report = async (): Promise<RequestReport> => (await client.page("/sandbox/requests")).json;
    return { service, client, report };
  };

  test("a group is made, found again and removed", async () => {
    const { service, client } = await aServiceOf({ teamId: 42 });
    const group = aGroup({ properties: { tags: ["a", null], "ü\0": 1.5 } });
    const made = await service.getOrCreate(group);
    expect(made).toMatchObject({ isNew: true, group: { teamId: 42, name: "Acme" } });
    const found = await service.getOrCreate(group);
    expect(found.isNew).toBe(false);
    expect(found.group.token.reveal()).toBe(made.group.token.reveal());
    expect((await client.page("/sandbox/groups")).json.groups).toMatchObject([group]);
    await service.remove(aRemovable({ token: made.group.token }));
    expect((await client.page("/sandbox/groups")).json.groups).toEqual([]);
  });

  test("a token is exchanged for a new one, which is the live one from then on", async () => {
    const { service } = await aServiceOf({ teamId: 42 });
    const { group } = await service.getOrCreate(aGroup());
    const rotated = await service.rotate("acme", group.token);
    expect(rotated).toMatchObject({ teamId: 42, name: "Acme" });
    expect(rotated.token.equals(group.token)).toBe(false);
    expect((await service.getOrCreate(aGroup())).group.token.equals(rotated.token)).toBe(true);

    const refused = await failureOf(service.rotate("acme", group.token));
    expect(refused).toMatchObject({ code: "REFUSED", mayHaveHappened: false });
    expect(refused.message).not.toContain(group.token.reveal());
  });

  test("a request whose beforeSend throws is never sent, and the next request is", async () => {
    const { service, report } = await aServiceOf();
    const forbidden = new SyncError("LEASE_LOST", "too late");
    const forbid = (): never => {
      throw forbidden;
    };
    await expect(service.getOrCreate(aGroup(), forbid)).rejects.toBe(forbidden);
    await expect(rotate(service, forbid)).rejects.toBe(forbidden);
    await expect(service.remove(aRemovable(), forbid)).rejects.toBe(forbidden);
    expect((await report()).total).toBe(0);

    const asked: string[] = [];
    const { group } = await service.getOrCreate(aGroup(), () => asked.push("before the GET leaves"));
    const { token } = await service.rotate("acme", group.token, () => asked.push("before the POST leaves"));
    await service.remove(aRemovable({ token }), () => asked.push("before the DELETE leaves"));
    expect(asked).toEqual(["before the GET leaves", "before the POST leaves", "before the DELETE leaves"]);
    expect((await report()).total).toBe(3);
  });

  test("what changes no group tells a good key from a wrong one, by status or by body", async () => {
    for (const [errors, refusal] of [
      ["status", "KEY_REFUSED"],
      ["body", "REFUSED"],
    ] as const) {
      const { service, client } = await aServiceOf({ errors });
      const toWrongKey = await failureOf(service.getWithWrongKey());
      const toNobody = await failureOf(service.rotateNobody());
      expect([toWrongKey.code, toNobody.code]).toEqual([refusal, "REFUSED"]);
      expect(isSameRefusal(toWrongKey, toNobody)).toBe(false);
      expect((await client.page("/sandbox/groups")).json.groups).toEqual([]);
    }
    const revoked = (await aServiceOf({}, { apiKey: new Secret("revoked") })).service;
    const toRevoked = await failureOf(revoked.rotateNobody());
    expect(isSameRefusal(toRevoked, await failureOf(revoked.getWithWrongKey()))).toBe(true);
  });

  test("connections are kept: never more than the concurrency", async () => {
    const { service, report } = await aServiceOf({ latency: { min: 1, max: 5 } }, { concurrency: 3 });
    const calls = Array.from({ length: 60 }, (_, index) =>
      service.getOrCreate(aGroup({ user_group_id: `t-${index}` })),
    );
    const answers = await Promise.all(calls);
    await Promise.all(
      answers.map(({ group }, index) =>
        service.remove(aRemovable({ user_group_id: `t-${index}`, token: group.token })),
      ),
    );
    const { total, connections, max_in_flight } = await report();
    expect(total).toBe(120);
    expect(connections).toBe(3);
    expect(max_in_flight).toBe(3);
  });
});

describe("a request", () => {
  interface Seen {
    readonly method: string | undefined;
    readonly url: string | undefined;
    readonly headers: http.IncomingHttpHeaders;
    readonly body: string;
  }

  test.each(["", "/", "/proxy", "/proxy/"])("is complete (base_url ending in %j)", async (path) => {
    const seen: Seen[] = [];
    const server = http.createServer(async (request, response) => {
      let body = "";
      for await (const chunk of request) body += chunk;
      const { method, url, headers } = request;
      seen.push({ method, url, headers, body });
      response.end('{"success": 0}');
    });
    const { port } = await listening(server);
    const service = aService({ baseUrl: `http://127.0.0.1:${port}${path}` });
    const group = aGroup({ name: "Ünï😀" });
    await failureOf(service.getOrCreate(group));
    await failureOf(rotate(service));
    await failureOf(service.remove(aRemovable()));
    await failureOf(service.remove(aRemovable({ dataSourceId: "warehouse-7" })));

    const url = `${path.replace(/\/$/, "")}/api/user`;
    const headers = { authorization: `Token ${KEY}`, "content-type": "application/json" };
    expect(seen).toMatchObject([
      { method: "GET", url, headers },
      { method: "POST", url, headers },
      { method: "DELETE", url, headers },
      { method: "DELETE", url, headers },
    ]);
    expect(seen.map(({ body }) => JSON.parse(body))).toEqual([
      group,
      { current_token: TOKEN },
      { current_token: TOKEN, user_group_id: "acme" },
      { current_token: TOKEN, user_group_id: "acme", data_source_provided_id: "warehouse-7" },
    ]);
    for (const { headers: sent, body } of seen) {
      expect(sent["content-length"]).toBe(String(Buffer.byteLength(body)));
    }
  });

  test("to learn of the key names no group: a GET with a wrong key, and a POST with the real one", async () => {
    const seen: { readonly key: string | undefined; readonly body: string }[] = [];
    const server = http.createServer(async (request, response) => {
      let body = "";
      for await (const chunk of request) body += chunk;
      seen.push({ key: request.headers.authorization, body });
      response.writeHead(400).end('{"success":0}');
    });
    const { port } = await listening(server);
    const service = aService({ baseUrl: `http://127.0.0.1:${port}` });
    await failureOf(service.getWithWrongKey());
    await failureOf(service.rotateNobody());
    expect(seen).toEqual([
      { key: expect.stringMatching(/^Token groupsync-check-[\w-]{43}$/), body: '{"check":"groupsync"}' },
      { key: `Token ${KEY}`, body: expect.stringMatching(/^{"current_token":"groupsync-check-[\w-]{43}"}$/) },
    ]);
  });

  test("does not follow a redirect, which could carry the key elsewhere", async () => {
    let requests = 0;
    const server = http.createServer((_, response) => {
      requests++;
      response.writeHead(307, { location: `/api/user?key=${KEY}` }).end();
    });
    const { port } = await listening(server);
    const failure = await failureOf(aService({ baseUrl: `http://127.0.0.1:${port}` }).getOrCreate(aGroup()));
    expect(failure).toMatchObject({ code: "BAD_RESPONSE", message: expect.stringContaining("a redirect") });
    expect(requests).toBe(1);
  });
});

describe("against a faulty server", () => {
  /** The service may have made a new token before it fell ill. */
  const lost = (code: ServiceFailureCode) => ({ code, mayHaveHappened: true });
  const OK = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
  const onRequest = (answer: (socket: Socket) => void) => (socket: Socket) =>
    void socket.once("data", () => answer(socket));

  test("one that resets the connection when it has the request", async () => {
    const failure = await failureWith(onRequest((socket) => socket.resetAndDestroy()));
    expect(failure).toMatchObject(lost("CONNECTION_LOST"));
  });

  test("one that drops a kept connection when a POST comes: it is not sent again", async () => {
    const posts: string[] = [];
    const server = http.createServer((request, response) => {
      if (request.method === "GET") {
        response.end('{"success": 0}');
        return;
      }
      posts.push(request.headers["content-length"] ?? "");
      request.socket.destroy();
    });
    const { port } = await listening(server);
    const service = aService({ baseUrl: `http://127.0.0.1:${port}`, concurrency: 1 });
    await failureOf(service.getOrCreate(aGroup()));
    expect(await failureOf(rotate(service))).toMatchObject(lost("CONNECTION_LOST"));
    await failureOf(service.getOrCreate(aGroup()));
    expect(posts).toHaveLength(1);
  });

  test.each([
    ["100 Continue", "", /HTTP 100 or 101 came, which was not asked for/],
    ["101 Switching Protocols", "Connection: upgrade\r\nUpgrade: x\r\n", /HTTP 100 or 101 came/],
    ["200 OK", `X-Long: ${"x".repeat(8_000)}\r\n`.repeat(3), /Headers Overflow/],
  ])("one that answers %s and what nobody can take", async (status, headers, message) => {
    const failure = await failureWith(
      onRequest((socket) => socket.write(`HTTP/1.1 ${status}\r\n${headers}\r\n`)),
      { timeoutMs: 5_000 },
    );
    expect(failure).toMatchObject(lost("BAD_RESPONSE"));
    expect(failure.message).toMatch(message);
  });

  test("one that stops in the middle of its answer", async () => {
    const failure = await failureWith(
      onRequest((socket) => socket.end(`${OK}Content-Length: 100\r\n\r\n{"success": 1,`)),
    );
    expect(failure).toMatchObject(lost("CONNECTION_LOST"));
  });

  test("one whose answer drips without an end", async () => {
    const drip = (socket: Socket): void => {
      socket.write(`${OK}Transfer-Encoding: chunked\r\n\r\n`);
      const timer = setInterval(() => socket.write("1\r\n \r\n"), 20);
      socket.once("close", () => clearInterval(timer));
    };
    const failure = await failureWith(onRequest(drip), { timeoutMs: 300 });
    expect(failure).toMatchObject(lost("TIMEOUT"));
  });

  test("one that answers a megabyte byte by byte costs no more memory than the answer", async () => {
    const bytes = 1024 * 1024;
    const pour = (socket: Socket): void => {
      socket.write(`${OK}Transfer-Encoding: chunked\r\n\r\n`);
      socket.end(`${"1\r\n \r\n".repeat(bytes)}0\r\n\r\n`);
    };
    const { port } = await listening(createServer(onRequest(pour)));
    const service = aService({ baseUrl: `http://127.0.0.1:${port}` });
    const before = process.memoryUsage().rss;
    let most = 0;
    const watching = setInterval(() => {
      most = Math.max(most, process.memoryUsage().rss - before);
    }, 10);
    const failures = await Promise.all(Array.from({ length: 4 }, () => failureOf(rotate(service))));
    clearInterval(watching);
    expect(failures[0]).toMatchObject(lost("BAD_RESPONSE"));
    expect(most).toBeLessThan(150 * bytes);
  });

  const CHUNKED = "Transfer-Encoding: chunked\r\n";
  const SPACES = " ".repeat(0x10000);
  test.each([
    ["a body of a terabyte", `${OK}Content-Length: 1099511627776\r\n\r\n`, SPACES],
    ["a body in chunks", `${OK}${CHUNKED}\r\n`, `10000\r\n${SPACES}\r\n`],
    ["headers", OK, `X-More: ${"x".repeat(1_000)}\r\n`],
    ["headers behind a body", `${OK}${CHUNKED}\r\n0\r\n`, `X-More: ${"x".repeat(1_000)}\r\n`],
  ])("one that sends %s without an end is cut off", async (_, head, more) => {
    const sent: Promise<number>[] = [];
    const pour = (socket: Socket): void => {
      const on = (): void => {
        while (socket.writable && socket.write(more));
      };
      sent.push(new Promise((resolve) => socket.once("close", () => resolve(socket.bytesWritten))));
      socket.write(head);
      socket.on("drain", on);
      on();
    };
    expect(await failureWith(onRequest(pour))).toMatchObject({ mayHaveHappened: true });
    // What the system keeps between the two is in this too.
    expect(Math.max(...(await Promise.all(sent)))).toBeLessThan(32 * 1024 * 1024);
  });

  const answerWith = (token: string): string => {
    const group = { team_id: 7, token, name: "Acme", provided_id: "acme" };
    const body = JSON.stringify({ success: 1, new_user_group: false, user_group: group });
    return `${OK}Content-Length: ${body.length}\r\n\r\n${body}`;
  };
  test.each([
    ["another answer behind it", `${answerWith("first")}${answerWith("second")}`],
    ["bytes behind it", `${answerWith("first")}garbage`],
    ["an early answer before it", `HTTP/1.1 103 Early Hints\r\n\r\n${answerWith("first")}`],
    ["less than it has", answerWith("first").replace(/Length: \d+/, "Length: 9")],
  ])("one whose answer comes with %s: the next call gets its own answer", async (_, bytes) => {
    let requests = 0;
    const answer = (socket: Socket) =>
      socket.on("data", () => socket.write(++requests === 1 ? bytes : answerWith("well")));
    const { port } = await listening(createServer(answer));
    const service = aService({ baseUrl: `http://127.0.0.1:${port}`, concurrency: 1 });
    const ask = () => service.getOrCreate(aGroup()).then(({ group }) => group.token.reveal(), String);
    await ask();
    // A connection that is to be closed may be found out with the next request on it.
    await expect.poll(ask).toBe("well");
    expect(await ask()).toBe("well");
  });

  test("one that answers with anything but HTTP, even with secrets in it", async () => {
    const failure = await failureWith(onRequest((socket) => socket.end(`220 mail ${KEY} ${TOKEN}\r\n`)));
    expect(failure).toMatchObject(lost("BAD_RESPONSE"));
  });

  test("one that resets the connection while TLS begins: no request can have arrived", async () => {
    const { port } = await listening(createServer(onRequest((socket) => socket.resetAndDestroy())));
    const failure = await failureOf(rotate(aService({ baseUrl: `https://127.0.0.1:${port}` })));
    expect(failure).toMatchObject({ code: "UNREACHABLE", mayHaveHappened: false });
  });

  test("a port where nobody listens", async () => {
    const { port, close } = await listening(createServer());
    await close();
    const failure = await failureOf(aService({ baseUrl: `http://127.0.0.1:${port}` }).getOrCreate(aGroup()));
    expect(failure).toMatchObject({
      code: "UNREACHABLE",
      mayHaveHappened: false,
      message: expect.stringContaining("ECONNREFUSED"),
    });
  });
});
