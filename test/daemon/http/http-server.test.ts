import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { Agent } from "node:http";
import type { Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  type HttpServer,
  isAllowedHost,
  type ListenAt,
  serve,
} from "../../../src/daemon/http/http-server.ts";
import { plain, type Reply, type Routes } from "../../../src/daemon/http/routes.ts";
import { rejection } from "../../contracts/collect.ts";
import { ask, connected, cut } from "./client.ts";

const ANY_PORT: ListenAt = { host: "127.0.0.1", port: 0 };

const PAGES: Routes = {
  "/": {
    page: () => ({
      status: 200,
      contentType: "text/html; charset=utf-8",
      body: "<p>grüße</p>",
      headers: { "content-security-policy": "default-src 'none'; style-src 'sha256-x'" },
    }),
  },
  "/healthz": { page: () => plain(200, "ok"), forAnyHost: true },
  "/readyz": { page: () => plain(503, "not yet") },
  "/later": { page: async () => plain(200, "later") },
  "/broken": {
    page: () => {
      throw new TypeError("x is undefined");
    },
  },
  "/late": {
    page: async () => {
      throw new TypeError("x is undefined");
    },
  },
};

async function aServer(routes = PAGES, at = ANY_PORT): Promise<HttpServer> {
  const server = await serve(at, () => routes);
  onTestFinished(() => server.close());
  return server;
}

describe("a page", () => {
  test("is shown", async () => {
    const server = await aServer();
    expect(await ask(server, "/")).toMatchObject({
      status: 200,
      headers: {
        "content-type": "text/html; charset=utf-8",
        "content-length": "14",
        "content-security-policy": "default-src 'none'; style-src 'sha256-x'",
      },
      body: "<p>grüße</p>",
    });
    expect(await ask(server, "/readyz")).toMatchObject({
      status: 503,
      headers: { "content-type": "text/plain; charset=utf-8" },
      body: "not yet\n",
    });
    expect(await ask(server, "/later")).toMatchObject({ status: 200, body: "later\n" });
  });

  test.each(["/broken", "/late"])("that can't be made says so, and the next one is: %s", async (path) => {
    const server = await aServer();
    expect(await ask(server, path)).toMatchObject({
      status: 500,
      body: "the reply could not be made: x is undefined\n",
    });
    expect(await ask(server, "/healthz")).toMatchObject({ status: 200 });
  });

  test("that anybody may see doesn't quote why it can't be made", async () => {
    const page = (): never => {
      throw new Error("Acme is undefined");
    };
    const server = await aServer({ "/metrics": { page, forAnyHost: true } });
    expect(await ask(server, "/metrics")).toMatchObject({
      status: 500,
      body: "the reply could not be made\n",
    });
  });

  test("has the same headers for HEAD, and no body", async () => {
    const server = await aServer();
    const { date: _, ...headers } = (await ask(server, "/")).headers;
    expect(await ask(server, "/", { method: "HEAD" })).toMatchObject({ status: 200, headers, body: "" });
  });

  test.each(["/healthz?verbose", "/healthz?a=b?c=/readyz", "/healthz?"])(
    "doesn't mind a query: %s",
    async (path) => {
      expect(await ask(await aServer(), path)).toMatchObject({ status: 200, body: "ok\n" });
    },
  );

  test.each(["/", "/readyz", "/nowhere", "/broken"])(
    "gives a browser no leave to do anything: %s",
    async (path) => {
      const { headers } = await ask(await aServer(), path);
      expect(headers).toMatchObject({
        "cache-control": "no-store",
        "content-security-policy": expect.stringContaining("default-src 'none'"),
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
      });
    },
  );
});

describe("what there is not", () => {
  test.each([
    "/nowhere",
    "//evil.example.com",
    "/healthz/",
    "/../healthz",
    "/__proto__",
    "http://evil.example.com/healthz",
    "*",
  ])("%s", async (path) => {
    expect(await ask(await aServer(), path)).toMatchObject({
      status: 404,
      body: "there is /, /healthz, /readyz, /later, /broken, /late\n",
    });
  });

  test.each(["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])("%s", async (method) => {
    const body = method === "POST" ? "x".repeat(100_000) : "";
    expect(await ask(await aServer(), "/", { method, body })).toMatchObject({
      status: 405,
      headers: { allow: "GET, HEAD" },
      body: "this path takes only GET and HEAD\n",
    });
  });
});

describe("those who ask", () => {
  test("wait for nobody who is slow", async () => {
    const server = await aServer();
    for (let n = 0; n < 50; n++) (await connected(server)).write("GET /healthz HTTP/1.1\r\nHost:");
    expect(await ask(server, "/healthz")).toMatchObject({ status: 200 });
  });

  test("may wait for their reply for long, but not leave it unread for long", async () => {
    let socket: Socket | undefined;
    const note = (message: unknown): void => {
      ({ socket } = message as { socket: Socket });
    };
    subscribe("http.server.request.start", note);
    onTestFinished(() => void unsubscribe("http.server.request.start", note));
    let answer = (_: Reply): void => {};
    const slow = new Promise<Reply>((resolve) => {
      answer = resolve;
    });
    const server = await aServer({ "/slow": { page: () => slow } });
    // This client reads nothing.
    (await connected(server)).write("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await expect.poll(() => socket?.timeout, { timeout: 60_000 }).toBe(0);
    answer(plain(200, "x".repeat(50_000_000)));
    await expect.poll(() => socket?.timeout, { timeout: 60_000 }).toBe(10_000);
  });

  test("are let in however many others keep silent, of whom the oldest is ended, and none that waits for its answer", async () => {
    const answers: ((reply: Reply) => void)[] = [];
    const page = (): Promise<Reply> => new Promise((resolve) => answers.push(resolve));
    const server = await aServer({ ...PAGES, "/slow": { page } });
    const slow = ask(server, "/slow");
    await expect.poll(() => answers.length, { timeout: 60_000 }).toBe(1);
    const silent = await Promise.all(Array.from({ length: 299 }, () => connected(server)));
    const firstCut = Promise.race(silent.map((socket, n) => cut(socket).then(() => n)));
    expect(await ask(server, "/healthz")).toMatchObject({ status: 200 });
    expect(await firstCut).toBe(0);
    answers[0]?.(plain(200, "at last"));
    expect(await slow).toMatchObject({ body: "at last\n" });
  });

  test("ask for one page at a time: a thousand requests in one packet make one page", async () => {
    let made = 0;
    const server = await aServer({ ...PAGES, "/": { page: () => plain(200, String(++made)) } });
    const greedy = await connected(server);
    greedy.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(1000));
    await cut(greedy);
    expect(made).toBe(1);
    expect(await ask(server, "/healthz")).toMatchObject({ status: 200 });
  });

  test("may ask again on the same connection", async () => {
    const server = await aServer();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const ports = new Set<number | undefined>();
    agent.on("free", ({ localPort }) => ports.add(localPort));
    for (const path of ["/healthz", "/later", "/", "/healthz"])
      expect(await ask(server, path, { agent })).toMatchObject({ status: 200 });
    expect(ports.size).toBe(1);
  });

  test("may talk nonsense, or leave before they are answered", async () => {
    const server = await aServer();
    const nonsense = await connected(server);
    nonsense.write("nonsense\r\n\r\n");
    await cut(nonsense);
    const impatient = await connected(server);
    impatient.write("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    impatient.resetAndDestroy();
    expect(await ask(server, "/healthz")).toMatchObject({ status: 200 });
  });
});

describe("the name that the server is called by", () => {
  const called = (host: string) => ({ headers: { host } });

  test("may be one that the operator has chosen", async () => {
    const server = await serve(
      { host: "localhost", port: 0 },
      () => PAGES,
      () => ["groupsync.internal"],
    );
    onTestFinished(() => server.close());
    for (const host of ["groupsync.internal:8080", "localhost"])
      expect(await ask(server, "/", called(host))).toMatchObject({ status: 200 });
  });

  test("is no other one, except for pages that tell nothing about tenants", async () => {
    const server = await aServer();
    for (const path of ["/", "/nowhere"])
      expect(await ask(server, path, called("evil.example.com"))).toMatchObject({
        status: 421,
        body: expect.stringContaining("http.allowed_hosts"),
      });
    expect(await ask(server, "/healthz", called("evil.example.com"))).toMatchObject({ status: 200 });
  });
});

describe("its end", () => {
  test("cuts those who keep their connection, or have not said yet what they want", async () => {
    const server = await serve(ANY_PORT, () => PAGES);
    const agent = new Agent({ keepAlive: true });
    await ask(server, "/healthz", { agent });
    const silent = await connected(server);
    const slow = await connected(server);
    slow.write("GET / HT");
    const bothCut = Promise.all([cut(silent), cut(slow)]);
    await server.close();
    await bothCut;
    expect(await rejection(ask(server, "/healthz"))).toMatchObject({ code: "ECONNREFUSED" });
  }, 5_000);
});

describe("the address", () => {
  test("is told with the port that was free", async () => {
    expect((await aServer()).url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
  });

  test("may be one of IPv6", async ({ skip }) => {
    const server = await aServer(PAGES, { host: "::1", port: 0 }).catch(({ cause }) => {
      if (cause.code === "EADDRNOTAVAIL" || cause.code === "EAFNOSUPPORT") return skip("no IPv6 here");
      throw cause;
    });
    expect(server.url).toMatch(/^http:\/\/\[::1\]:[1-9]\d*$/);
    expect(await ask(server, "/healthz")).toMatchObject({ status: 200 });
  });

  test("that is in use is refused, with what to do", async () => {
    const { url } = await aServer();
    expect(
      await rejection(serve({ ...ANY_PORT, port: Number(new URL(url).port) }, () => PAGES)),
    ).toMatchObject({
      code: "HTTP_ADDRESS",
      message: expect.stringMatching(`^cannot listen on ${url}: .*EADDRINUSE`),
      hint: 'name another address in http.listen, or "off" for no page, probes and metrics',
    });
  });

  test("of nobody is refused too", async () => {
    expect(await rejection(serve({ host: "nowhere.invalid", port: 0 }, () => PAGES))).toMatchObject({
      code: "HTTP_ADDRESS",
    });
  });
});

test.each([
  "localhost",
  "127.0.0.1:8080",
  "[::1]:8080",
  "10.1.2.3",
  "groupsync.internal",
  "GroupSync.Internal.:8080",
])("a page may be asked for at %s", (header) => {
  expect(isAllowedHost(header, ["groupsync.internal"])).toBe(true);
});

test.each([
  undefined,
  "",
  "evil.example.com",
  "groupsync.internal.evil.example.com",
  "127.0.0.1.evil.example.com",
  "localhost:x",
  "user@localhost",
  "[::1",
])("a page isn't shown at %j", (header) => {
  expect(isAllowedHost(header, ["groupsync.internal"])).toBe(false);
});
