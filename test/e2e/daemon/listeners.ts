import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

interface TimedText {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

/** A chat's webhook and a monitor's heartbeat, whose addresses are secret. */
export async function listeners() {
  const told: TimedText[] = [];
  let isDead = false;
  const server = createServer(async (request, response) => {
    if (isDead) {
      request.socket.destroy();
      return;
    }
    let body = "";
    for await (const chunk of request) body += chunk;
    told.push({ method: request.method ?? "", path: request.url ?? "", body });
    response.end("ok");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    told,
    /** The texts of the webhook. */
    news: (): string[] =>
      told.filter(({ path }) => path === "/hook/s3cret").map(({ body }) => JSON.parse(body).text),
    beats: () => told.filter(({ path }) => path === "/beat/s3cret").length,
    /** Hangs up on everybody, while true. */
    die(isOut: boolean): void {
      isDead = isOut;
    },
    config: { notify: { webhook: `${at}/hook/s3cret`, heartbeat: `${at}/beat/s3cret` } },
  };
}
