import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { describe, SyncError } from "../../core/failure/sync-error.ts";
import { visible } from "../../core/text/printable.ts";
import { isAllowedHost } from "./allowed-hosts.ts";
import { keepRoom } from "./connection-limit.ts";

export interface Page {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  /** In addition to the headers of every page. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** By path. */
export type Pages = Readonly<Record<string, Route>>;

interface Route {
  /** Makes the page anew for each request. */
  readonly page: () => Page | Promise<Page>;
  /** The page tells nothing about tenants, so it is shown to requests with any Host header. */
  readonly forAnyHost?: true;
}

export interface ListenAt {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** Host names to allow in requests, in addition to `host`, localhost and IP addresses. */
  readonly allowedHosts?: readonly string[];
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

/** Serves pages over HTTP, without authentication. Rejects with HTTP_ADDRESS if it can't listen. */
export async function serve(at: ListenAt, pages: Pages): Promise<HttpServer> {
  const { host, port, allowedHosts = [] } = at;
  const server = createServer({
    requestTimeout: LONGEST_REQUEST,
    headersTimeout: LONGEST_HEADERS,
    connectionsCheckingInterval: CHECKED_EVERY,
  });
  keepRoom(server, (request, response) => void answer(pages, [host, ...allowedHosts], request, response));
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
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

async function answer(
  pages: Pages,
  hosts: readonly string[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { status, contentType, body, headers } = await pageFor(pages, hosts, request);
  response.writeHead(status, {
    ...HEADERS,
    "content-type": contentType,
    "content-length": Buffer.byteLength(body),
    ...headers,
  });
  // Node.js leaves the body out of the answer to a HEAD request.
  response.end(body);
}

async function pageFor(
  pages: Pages,
  hosts: readonly string[],
  { method, url = "/", headers }: IncomingMessage,
): Promise<Page> {
  const path = url.split("?", 1)[0] ?? url;
  const route = Object.hasOwn(pages, path) ? pages[path] : undefined;
  if (route?.forAnyHost === undefined && !isAllowedHost(headers.host, hosts))
    return plain(421, "call this server localhost, by its IP address, or by a name in http.allowed_hosts");
  if (route === undefined) return plain(404, `there is ${Object.keys(pages).join(", ")}`);
  if (method !== "GET" && method !== "HEAD")
    return { ...plain(405, "this server is read-only"), headers: { allow: "GET, HEAD" } };
  try {
    return await route.page();
  } catch (error) {
    return plain(500, `the page could not be made: ${describe(error)}`);
  }
}

/** A page of one line. */
export const plain = (status: number, text: string): Page => ({
  status,
  contentType: "text/plain; charset=utf-8",
  body: `${visible(text)}\n`,
});

const urlOf = (host: string, port: number): string =>
  `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
