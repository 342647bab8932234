import { once } from "node:events";
import { Agent, type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from "node:http";
import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import type { HttpServer } from "../../../src/daemon/http/http-server.ts";

type Address = Pick<HttpServer, "url">;

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Asked {
  readonly method?: string;
  readonly body?: string;
  readonly agent?: Agent;
  readonly headers?: OutgoingHttpHeaders;
}

/** The path goes out as it is: `fetch` would tidy it up. */
export async function ask(
  { url }: Address,
  path: string,
  { method = "GET", body = "", agent = new Agent(), headers = {} }: Asked = {},
): Promise<Answer> {
  const { hostname, port } = new URL(url);
  const asked = request({ host: hostname.replaceAll(/[[\]]/g, ""), port, path, method, agent, headers });
  asked.end(body);
  const [answer] = await once(asked, "response");
  let text = "";
  for await (const chunk of answer.setEncoding("utf8")) text += chunk;
  return { status: answer.statusCode, headers: answer.headers, body: text };
}

export async function connected({ url }: Address): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  onTestFinished(() => {
    socket.destroy();
  });
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

/** In order or by a reset. */
export const cut = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    socket.resume().once("close", () => resolve());
  });
