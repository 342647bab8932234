import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { listening } from "./listening.ts";

/** Stands between a program and a server, and spoils their line in the ways that a test chooses. */
export interface TcpProxy {
  /** The server's url, by way of the proxy. */
  readonly url: string;
  /** How many of the server's bytes have passed since `limit` was last called. */
  passed(): number;
  /**
   * Lets this many more of the server's bytes pass, over all connections together. Then cuts every connection, and each new
   * connection at once. Infinity repairs the line.
   */
  limit(bytes: number): void;
  /** A black hole, while true: nothing passes either way, and nobody is told. What was sent arrives once it is over. */
  swallow(isHole: boolean): void;
  /** A black hole for the connections that there are, for good; new ones pass. */
  strand(): void;
  /** Cuts every connection; new ones lead to this server. */
  redirect(url: string): void;
}

/** A proxy for the running test. `url` has to name a port. */
export async function tcpProxy(url: string): Promise<TcpProxy> {
  let { hostname, port } = new URL(url);
  const connections = new Set<{ readonly client: Socket; readonly upstream: Socket; isStranded: boolean }>();
  let allowed = Number.POSITIVE_INFINITY;
  let passed = 0;
  let hole: Promise<void> | undefined;
  let fillHole = (): void => {};

  const cutIfDue = (): void => {
    if (passed < allowed) return;
    for (const { client, upstream } of connections) {
      upstream.destroy();
      // Not destroyed: what has passed arrives first.
      client.end();
    }
  };
  const pump = async (
    from: Socket,
    to: Socket,
    pass: (chunk: Buffer) => Buffer,
    isStranded: () => boolean,
  ): Promise<void> => {
    // One direction may have ended and the other not.
    for await (const chunk of from.iterator({ destroyOnReturn: false })) {
      await hole;
      if (isStranded()) await once(from, "close");
      if (to.destroyed) return;
      if (!to.write(pass(chunk))) await untilWritable(to);
      cutIfDue();
    }
    to.end();
  };

  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    const connection = { client, upstream, isStranded: false };
    connections.add(connection);
    client.on("error", () => {});
    client.once("close", () => {
      connections.delete(connection);
      upstream.destroy();
    });
    upstream.on("error", () => client.destroy());
    const countBytes = (chunk: Buffer): Buffer => {
      const passing = chunk.subarray(0, Math.min(chunk.length, allowed - passed));
      passed += passing.length;
      return passing;
    };
    // A line that breaks ends both: the sockets' own events say so.
    const isStranded = (): boolean => connection.isStranded;
    void pump(client, upstream, (chunk) => chunk, isStranded).catch(() => {});
    void pump(upstream, client, countBytes, isStranded).catch(() => {});
    cutIfDue();
  });
  const proxy = await listening(server);
  onTestFinished(() => fillHole());

  return {
    url: Object.assign(new URL(url), { hostname: "127.0.0.1", port: String(proxy.port) }).href,
    passed: () => passed,
    limit(bytes) {
      allowed = bytes;
      passed = 0;
      cutIfDue();
    },
    swallow(isHole) {
      fillHole();
      hole = isHole
        ? new Promise((resolve) => {
            fillHole = resolve;
          })
        : undefined;
    },
    strand() {
      for (const connection of connections) connection.isStranded = true;
    },
    redirect(to) {
      ({ hostname, port } = new URL(to));
      for (const { client } of connections) client.destroy();
    },
  };
}

const untilWritable = (socket: Socket): Promise<unknown> =>
  Promise.race([once(socket, "drain"), once(socket, "close")]);
