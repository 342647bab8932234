import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import type pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { sessionWaits } from "../../../../src/adapters/postgres/connection/session.ts";
import { Secret } from "../../../../src/core/secret/secret.ts";

test("a session that is cut is cancelled twice: its statement may reach the server after the first request", async () => {
  const requests: string[] = [];
  const server = createServer((socket) => {
    socket.on("data", (request) => requests.push(request.toString("hex"))).on("error", () => {});
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { address: host, port } = server.address() as AddressInfo;
  const client = { connection: {}, host, port, processID: 7, secretKey: -2 };

  const url = new Secret("postgres://nobody@127.0.0.1/nowhere");
  const timeouts = { lockMs: 30_000, silenceMs: 600_000 };
  sessionWaits(client as unknown as pg.Client, {
    url,
    applicationName: "test",
    timeouts,
    stop: new AbortController().signal,
  }).cut();
  const request = "00000010" + "04d2162e" + "00000007" + "fffffffe";
  await expect.poll(() => requests, { timeout: 30_000 }).toEqual([request, request]);
});
