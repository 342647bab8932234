import type { RequestListener, Server } from "node:http";
import type { Socket } from "node:net";

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
