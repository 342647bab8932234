import { once } from "node:events";
import type { RequestListener, Server } from "node:http";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { isIP } from "node:net";
import { setImmediate } from "node:timers/promises";
import { describe, SyncError } from "../../core/failure/sync-error.ts";
import { findRoute, plain, type Reply, type Routes } from "./routes.ts";

export interface ListenAt {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
}

export interface HttpServer {
  /** Without a slash at its end. */
  readonly url: string;
  /** Closes all connections at once. */
  close(): Promise<void>;
}

/** In milliseconds. A slow client must not hold a connection for longer. */
const LONGEST_REQUEST = 10_000;
const LONGEST_HEADERS = 2_000;
const CHECKED_EVERY = 1_000;

const HEADERS = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/**
 * Serves the routes over HTTP. Asks for the routes and the allowed hosts at each request, because another config may have
 * others. Pages need no authentication, and an action does its own. Rejects with HTTP_ADDRESS if it can't listen.
 */
export async function serve(
  { host, port }: ListenAt,
  routes: () => Routes,
  allowedHosts: () => readonly string[] = () => [],
): Promise<HttpServer> {
  const server = createServer({
    requestTimeout: LONGEST_REQUEST,
    headersTimeout: LONGEST_HEADERS,
    connectionsCheckingInterval: CHECKED_EVERY,
  });
  answerWithinLimit(server, (request, response) => {
    void answer(routes(), [host, ...allowedHosts()], request, response);
  });
  // Ends connections whose client doesn't read the answer.
  server.timeout = LONGEST_REQUEST;
  server.listen(port, host);
  try {
    await once(server, "listening");
  } catch (cause) {
    throw new SyncError("HTTP_ADDRESS", `cannot listen on ${urlOf(host, port)}: ${describe(cause)}`, {
      hint: 'name another address in http.listen, or "off" for no page, probes and metrics',
      cause,
    });
  }
  // An error here concerns one connection that could not be accepted. Go on.
  server.on("error", () => {});
  const bound = server.address();
  return {
    url: urlOf(host, typeof bound === "object" && bound ? bound.port : port),
    close: async () => {
      if (!server.listening) return;
      const closed = once(server, "close");
      server.close();
      // Let replies that are ready go out first.
      await setImmediate();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(
  routes: Routes,
  hosts: readonly string[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // A reply may take longer than the client may take to read it.
  request.socket.setTimeout(0);
  const { status, contentType, body, headers } = await replyTo(routes, hosts, request, response);
  request.socket.setTimeout(LONGEST_REQUEST);
  response.writeHead(status, {
    ...HEADERS,
    "content-type": contentType,
    "content-length": Buffer.byteLength(body),
    ...headers,
  });
  // Node.js leaves the body out of the answer to a HEAD request.
  response.end(body);
}

async function replyTo(
  routes: Routes,
  hosts: readonly string[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Reply> {
  const { method, url = "/", headers } = request;
  const [path = url] = url.split("?", 1);
  const { route, below = "" } = findRoute(routes, path) ?? {};
  const isForAnyHost = route !== undefined && "page" in route && route.forAnyHost === true;
  if (!isForAnyHost && !isAllowedHost(headers.host, hosts))
    return plain(421, "call this server localhost, by its IP address, or by a name in http.allowed_hosts");
  if (route === undefined) return plain(404, `there is ${Object.keys(routes).join(", ")}`);
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const asked = { query: url.slice(path.length), gone: gone.signal };
  try {
    if ("page" in route) {
      if (method !== "GET" && method !== "HEAD") return takesOnly("GET", "HEAD");
      return await route.page(asked);
    }
    if (method !== "POST") return takesOnly("POST");
    if (!isOfThisHost(headers.origin, headers.host))
      return plain(403, "this server takes no requests from the pages of other hosts");
    return await route.post({ ...asked, below, headers: request.headersDistinct });
  } catch (error) {
    // The error may quote a tenant's text.
    return plain(500, `the reply could not be made${isForAnyHost ? "" : `: ${describe(error)}`}`);
  }
}

const takesOnly = (...methods: readonly string[]): Reply => ({
  ...plain(405, `this path takes only ${methods.join(" and ")}`),
  headers: { allow: methods.join(", ") },
});

const urlOf = (host: string, port: number): string =>
  `http://${host.includes(":") ? `[${host}]` : host}:${port}`;

/**
 * Whether a request with this Host header may see a page that names tenants. It protects against DNS rebinding: a web
 * site can point its own host name at this machine's address and let a visitor's browser read the pages here. The
 * browser then sends the site's name as the Host. It can't send `localhost`, an IP address, or a name that the operator
 * allows.
 */
export function isAllowedHost(header: string | undefined, allowed: readonly string[]): boolean {
  const host = hostOf(header ?? "");
  return host === "localhost" || isIP(host) !== 0 || allowed.some((name) => name.toLowerCase() === host);
}

/**
 * Whether a request may do something, by its Origin header. A browser adds one to each POST, and other clients need
 * none. Only a page of this server itself may send one: a page of another site makes a visitor's browser send it too.
 */
export function isOfThisHost(origin: string | undefined, host: string | undefined): boolean {
  if (origin === undefined) return true;
  return URL.canParse(origin) && new URL(origin).host === host?.toLowerCase();
}

/** The host without port, final dot, and the brackets of an IPv6 address. */
function hostOf(header: string): string {
  const [, ipv6, name] = /^(?:\[([\da-f:.]+)\]|([\w.-]+?)\.?)(?::\d*)?$/i.exec(header) ?? [];
  return (ipv6 ?? name ?? "").toLowerCase();
}

/** More than the requests that may wait for a tenant (see sync-requests.ts), so that these can't keep a probe out. */
const MOST_CONNECTIONS = 300;

/**
 * Answers the server's requests so that no client can keep a probe out. The oldest connection that waits for no answer
 * makes room for one too many. A connection that asks again before its answer is closed: one packet has room for a
 * thousand requests, and Node.js hands over all of them before anything else.
 */
export function answerWithinLimit(server: Server, answer: RequestListener): void {
  /** The oldest first. */
  const open = new Set<Socket>();
  const answering = new WeakSet<Socket>();
  server.on("connection", (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    if (open.size <= MOST_CONNECTIONS) return;
    const ended = [...open].find((other) => !answering.has(other)) ?? socket;
    // Its `close` comes later, and a burst must not choose it again.
    open.delete(ended);
    ended.destroy();
  });
  server.on("request", (request, response) => {
    const { socket } = request;
    if (answering.has(socket)) socket.destroy();
    // The rest of a packet still comes.
    if (socket.destroyed) return;
    answering.add(socket);
    response.once("close", () => answering.delete(socket));
    answer(request, response);
  });
}
