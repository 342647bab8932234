import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";

/** Watches one connection. */
export interface Watch {
  /** Is called with what the client has sent. */
  sent?(chunk: Buffer): void;
  /** Is called with what the server has answered, once it is passed on to the client. */
  answered(chunk: Buffer): void;
}

export interface Line {
  /** The server's url, by way of the line. */
  readonly url: string;
  close(): void;
}

/** A proxy between a program and a server that shows what passes. `url` has to name a port, and not to be HTTPS. */
export async function watchedLine(url: string, watchConnection: () => Watch): Promise<Line> {
  const { hostname, port } = new URL(url);
  const server = createServer({ noDelay: true }, (client) => {
    const watch = watchConnection();
    const upstream = connect({ host: hostname, port: Number(port), noDelay: true });
    client.on("data", (chunk: Buffer) => {
      watch.sent?.(chunk);
      upstream.write(chunk);
    });
    upstream.on("data", (chunk: Buffer) => {
      client.write(chunk, (error) => {
        if (!error) watch.answered(chunk);
      });
    });
    // A program that was told to stop may cut either connection, or leave it open: close the other one with it.
    client.on("error", () => {}).once("close", () => upstream.destroy());
    upstream.on("error", () => {}).once("close", () => client.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const line = new URL(url);
  line.hostname = "127.0.0.1";
  line.port = String((server.address() as AddressInfo).port);
  return { url: line.href, close: () => void server.close() };
}
