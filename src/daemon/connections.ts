import type { RequestListener, Server } from "node:http";
import type { Socket } from "node:net";

/** The most connections at once, and of these from one address. */
const MOST = { inAll: 100, fromOneAddress: 40 };

/**
 * Has the server answer, and keeps room in it for whoever comes next.
 * - One connection too many ends the oldest one that waits for no answer, of its own address first. A neighbour who opens
 *   connections and says nothing can't keep a probe out.
 * - A connection that asks again before it is answered is ended: one packet has room for a thousand requests, which
 *   Node.js would hand over all at once, and nothing else would be done until they are answered.
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
    // What came in the same packet is still handed over.
    if (socket.destroyed) return;
    answering.add(socket);
    response.once("close", () => answering.delete(socket));
    answer(request, response);
  });

  /** Where all wait for an answer, the one that came last has to go. */
  const makeRoom = (sockets: readonly Socket[]): void => {
    const ended = sockets.find((socket) => !answering.has(socket)) ?? sockets.at(-1);
    if (ended === undefined) return;
    // Its `close` comes later: until then, a burst would find the same one again and again.
    open.delete(ended);
    ended.destroy();
  };
}
