import type { Server } from "node:http";
import type { Socket } from "node:net";

/** The most connections at once, and of these from one address. */
const MOST = { inAll: 100, fromOneAddress: 40 };

/**
 * Keeps room in the server for whoever comes next: one connection too many ends the oldest one that waits for no answer,
 * of its own address first. A neighbour who opens connections and says nothing can't keep a probe out.
 */
export function keepRoom(server: Server): void {
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
  server.on("request", ({ socket }, response) => {
    answering.add(socket);
    response.once("close", () => answering.delete(socket));
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
