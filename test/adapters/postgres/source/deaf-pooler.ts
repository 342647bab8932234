import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** The type of the server's message that carries a notification. */
const NOTIFICATION = 0x41;

/** Passes everything on but notifications, as a pooler does that gives each transaction another session. */
export async function deafPooler(url: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect({ host: hostname, port: Number(port) });
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.once("close", () => other.destroy());
    }
    client.pipe(upstream);
    let rest: Buffer = Buffer.alloc(0);
    upstream.on("data", (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      // A message: its type, and its length without the type.
      while (rest.length >= 5 && rest.length > rest.readInt32BE(1)) {
        const length = 1 + rest.readInt32BE(1);
        if (rest[0] !== NOTIFICATION) client.write(rest.subarray(0, length));
        rest = rest.subarray(length);
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, "close");
  });
  const pooled = new URL(url);
  pooled.hostname = "127.0.0.1";
  pooled.port = String((server.address() as AddressInfo).port);
  return pooled.href;
}
