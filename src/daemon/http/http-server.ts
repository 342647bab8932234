import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setImmediate } from "node:timers/promises";
import { describe, SyncError } from "../../core/failure/sync-error.ts";
import { isAllowedHost, isOfThisHost } from "./allowed-hosts.ts";
import { answerWithinLimit } from "./connection-limit.ts";
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
