import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { describe, SyncError } from "../core/errors.ts";

export interface Page {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  /** Beside those that every page gets. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** By path; a page is made anew for each request. */
export type Pages = Readonly<Record<string, () => Page | Promise<Page>>>;

export interface ListenAt {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
}

export interface HttpServer {
  /** Without a slash at its end. */
  readonly url: string;
  /** Cuts all connections. */
  close(): Promise<void>;
}

/** Nobody who asks may keep the daemon busy. */
const LONGEST_REQUEST = 10_000;
const CHECKED_EVERY = 1_000;
const MOST_CONNECTIONS = 100;

const HEADERS = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/** Shows pages to whoever can reach the address. Rejects with HTTP_ADDRESS where it can't listen. */
export async function serve({ host, port }: ListenAt, pages: Pages): Promise<HttpServer> {
  const server = createServer(
    {
      requestTimeout: LONGEST_REQUEST,
      headersTimeout: LONGEST_REQUEST,
      connectionsCheckingInterval: CHECKED_EVERY,
    },
    (request, response) => void answer(pages, request, response),
  );
  server.maxConnections = MOST_CONNECTIONS;
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

async function answer(pages: Pages, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { status, contentType, body, headers } = await pageFor(pages, request);
  response.writeHead(status, {
    ...HEADERS,
    "content-type": contentType,
    "content-length": Buffer.byteLength(body),
    ...headers,
  });
  // Node.js leaves it out of the answer to a HEAD.
  response.end(body);
}

async function pageFor(pages: Pages, { method, url = "/" }: IncomingMessage): Promise<Page> {
  const path = url.split("?", 1)[0] ?? url;
  const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
  if (page === undefined) return plain(404, `there is ${Object.keys(pages).join(", ")}`);
  if (method !== "GET" && method !== "HEAD")
    return { ...plain(405, "nothing can be changed here"), headers: { allow: "GET, HEAD" } };
  try {
    return await page();
  } catch (error) {
    return plain(500, `the page could not be made: ${describe(error)}`);
  }
}

/** A page of one line. */
export const plain = (status: number, text: string): Page => ({
  status,
  contentType: "text/plain; charset=utf-8",
  body: `${text}\n`,
});

const urlOf = (host: string, port: number): string =>
  `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
