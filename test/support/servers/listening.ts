import { once } from "node:events";
import type { AddressInfo, Server, Socket } from "node:net";
import { onTestFinished } from "vitest";

/** Starts a server on a free port of this machine for one test. `close` also cuts its connections. */
export async function listening(
  server: Server,
  host = "127.0.0.1",
): Promise<{ port: number; close: () => Promise<void> }> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).once("close", () => sockets.delete(socket));
  });
  server.listen(0, host);
  await once(server, "listening");
  const close = async (): Promise<void> => {
    if (!server.listening) return;
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, "close");
  };
  onTestFinished(close);
  return { port: (server.address() as AddressInfo).port, close };
}
