import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { listening } from "./listening.ts";
import { tcpProxy } from "./tcp-proxy.ts";

/** More than what sockets take at once: somebody has to wait. */
const GREETING = Buffer.alloc(4_000_000, "a server's greeting. ");

/** Greets, and then gives back what it is sent. */
async function aServer(): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => {}).write(GREETING);
    socket.pipe(socket);
  });
  return `tcp://127.0.0.1:${(await listening(server)).port}`;
}

function aClientOf(url: string): Socket {
  const client = connect(Number(new URL(url).port), "127.0.0.1");
  onTestFinished(() => void client.destroy());
  return client;
}

test("connections are cut after just as many bytes as were allowed, until the line is repaired", async () => {
  const proxy = await tcpProxy(await aServer());
  for (const bytes of [1, 1_000, 3_000_001]) {
    proxy.limit(bytes);
    expect((await buffer(aClientOf(proxy.url))).equals(GREETING.subarray(0, bytes))).toBe(true);
    expect(proxy.passed()).toBe(bytes);
    expect(await buffer(aClientOf(proxy.url))).toHaveLength(0);
  }
  proxy.limit(Number.POSITIVE_INFINITY);
  const client = aClientOf(proxy.url);
  client.end();
  expect(await buffer(client)).toHaveLength(GREETING.length);
});

test("a black hole passes nothing on, not even that there is one; what was sent arrives once it is over", async () => {
  const proxy = await tcpProxy(await aServer());
  proxy.swallow(true);
  const client = aClientOf(proxy.url);
  await once(client, "connect");
  client.end("an answer");
  expect(await Promise.race([once(client, "data"), sleep(200, "nothing")])).toBe("nothing");
  proxy.swallow(false);
  const heard = await buffer(client);
  expect(heard).toHaveLength(GREETING.length + "an answer".length);
});
