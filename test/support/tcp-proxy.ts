import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** Stands between a program and a server, and cuts their connections at a byte of the test's choice. */
export interface TcpProxy {
  /** The server's url, by way of the proxy. */
  readonly url: string;
  /** How many of the server's bytes have passed since `limit` was last called. */
  passed(): number;
  /**
   * Lets so many more of the server's bytes pass, over all connections together. With the last of them every
   * connection is cut, and a new one is as soon as it is made. Infinity mends the line.
   */
  limit(bytes: number): void;
}

/** A proxy for the running test. `url` has to name a port. */
export async function tcpProxy(url: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(url);
  const connections = new Set<{ readonly client: Socket; readonly upstream: Socket }>();
  let allowed = Number.POSITIVE_INFINITY;
  let passed = 0;

  const cutIfDue = (): void => {
    if (passed < allowed) return;
    for (const { client, upstream } of connections) {
      upstream.destroy();
      // Not destroyed: what has passed arrives first.
      client.end();
    }
  };

  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    const connection = { client, upstream };
    connections.add(connection);
    client.on("error", () => {});
    client.once("close", () => {
      connections.delete(connection);
      upstream.destroy();
    });
    upstream.on("error", () => client.destroy());
    upstream.once("end", () => client.end());
    client.pipe(upstream);
    upstream.on("data", (chunk: Buffer) => {
      const passing = chunk.subarray(0, Math.min(chunk.length, allowed - passed));
      passed += passing.length;
      if (!client.write(passing)) {
        upstream.pause();
        client.once("drain", () => upstream.resume());
      }
      cutIfDue();
    });
    cutIfDue();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.close();
    for (const { client } of connections) client.destroy();
    await once(server, "close");
  });

  const proxied = new URL(url);
  proxied.hostname = "127.0.0.1";
  proxied.port = String((server.address() as AddressInfo).port);
  return {
    url: proxied.href,
    passed: () => passed,
    limit(bytes) {
      allowed = bytes;
      passed = 0;
    },
  };
}
