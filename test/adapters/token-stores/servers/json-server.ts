import {
  createServer as createHttpServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { Server } from "node:net";
import type { Certificate } from "../../../support/servers/certificates.ts";
import { listening } from "../../../support/servers/listening.ts";

export interface JsonRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface JsonReply {
  readonly status: number;
  /** JSON; a string is sent as it is. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Serving {
  readonly server: Server;
  readonly address: string;
  close(): Promise<void>;
}

/** Serves for one test, over TLS if there is a certificate. */
export async function serveJson(
  answer: (request: JsonRequest) => JsonReply | "silence",
  certificate?: Certificate,
): Promise<Serving> {
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method = "", url = "", headers } = request;
    const reply = answer({ method, url, headers, text: Buffer.concat(chunks).toString("utf8") });
    if (reply === "silence") return;
    const isText = typeof reply.body === "string";
    const contentType = isText ? "text/html" : "application/json";
    response.writeHead(reply.status, { "content-type": contentType, ...reply.headers });
    response.end(isText ? reply.body : JSON.stringify(reply.body));
  };
  const listener = (request: IncomingMessage, response: ServerResponse) => void serve(request, response);
  const server = certificate
    ? createHttpsServer({ ...certificate, keepAliveTimeout: 0 }, listener)
    : createHttpServer(listener);
  const { port, close } = await listening(server);
  return { server, address: `${certificate ? "https" : "http"}://127.0.0.1:${port}`, close };
}

/** The body of a request; undefined if it has none. */
export const bodyOf = ({ text }: JsonRequest): unknown => (text === "" ? undefined : JSON.parse(text));
