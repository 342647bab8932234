import type { RequestListener, Server } from "node:http";
import type { Socket } from "node:net";

/**
 * The most connections at once: of all clients together, and of one client address. More than the requests that may
 * wait for a tenant (see sync-requests.ts), so that these can't keep a probe out.
 */
const MOST = { inAll: 300, fromOneAddress: 150 };

/**
 * Answers the server's requests, and limits its connections, so that nobody can keep a probe out:
 * - If there is a connection too many, the oldest one that waits for no answer is closed. If one address has too many,
 *   one of that address is closed.
 * - A connection that sends a request before the last one is answered is closed. One packet has room for a thousand
 *   requests, and Node.js would hand over all of them before anything else.
 */
export function keepRoom(server: Server, answer: RequestListener): void {
  /** The oldest first. */
  const open = new Set<Socket>();
  const answering = new Set<Socket>();

  server.on("connection", (socket) => {
    open.add(socket);
    socket.once("close", () => {
      open.delete(socket);
      answering.delete(socket);
    });
    const neighbours = [...open].filter(({ remoteAddress }) => remoteAddress === socket.remoteAddress);
    if (neighbours.length > MOST.fromOneAddress) makeRoom(neighbours);
    else if (open.size > MOST.inAll) makeRoom([...open]);
  });
  server.on("request", (request, response) => {
    const { socket } = request;
    if (answering.has(socket)) socket.destroy();
    // Node.js still hands over the other requests of the same packet.
    if (socket.destroyed) return;
    answering.add(socket);
    response.once("close", () => answering.delete(socket));
    answer(request, response);
  });

  /** Closes the newest connection if all of them wait for an answer. */
  const makeRoom = (sockets: readonly Socket[]): void => {
    const ended = sockets.find((socket) => !answering.has(socket)) ?? sockets.at(-1);
    if (ended === undefined) return;
    // Forget it now. Its `close` event comes later, and until then a burst would choose the same connection again.
    open.delete(ended);
    ended.destroy();
  };
}
