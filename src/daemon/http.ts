import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { describe, SyncError } from "../core/errors.ts";
import { visible } from "../core/printable.ts";
import { isAllowedHost } from "./allowed-hosts.ts";
import { keepRoom } from "./connections.ts";

export interface Page {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  /** Beside those that every page gets. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** By path. */
export type Pages = Readonly<Record<string, Route>>;

export interface Route {
  /** Makes the page anew for each request. */
  readonly page: () => Page | Promise<Page>;
  /** It tells nothing about tenants, and so is shown whatever name the server is called by. */
  readonly forAnyHost?: true;
}

export interface ListenAt {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Names that it may be called by, beside `host`, localhost and IP addresses. */
  readonly allowedHosts?: readonly string[];
}

export interface HttpServer {
  /** Without a slash at its end. */
  readonly url: string;
  /** Cuts all connections. */
  close(): Promise<void>;
}

/** Nobody who asks may keep the daemon busy. */
const LONGEST_REQUEST = 10_000;
const LONGEST_HEADERS = 2_000;
const CHECKED_EVERY = 1_000;

const HEADERS = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/** Shows pages to whoever can reach the address. Rejects with HTTP_ADDRESS where it can't listen. */
export async function serve(at: ListenAt, pages: Pages): Promise<HttpServer> {
  const { host, port, allowedHosts = [] } = at;
  const server = createServer({
    requestTimeout: LONGEST_REQUEST,
    headersTimeout: LONGEST_HEADERS,
    connectionsCheckingInterval: CHECKED_EVERY,
  });
  keepRoom(server, (request, response) => void answer(pages, [host, ...allowedHosts], request, response));
  // For those who don't read the answer.
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
  // One connection that could not be taken is nothing to end for.
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
  // Node.js leaves it out of the answer to a HEAD.
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
    return { ...plain(405, "nothing can be changed here"), headers: { allow: "GET, HEAD" } };
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
