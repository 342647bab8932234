import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { addressTrial } from "../../../src/adapters/host/address-trial.ts";
import { statusPage } from "../../../src/daemon/status-page/status-page.ts";
import { aDaemonState } from "../../builders/daemon-state.ts";

const HOST = "127.0.0.1";

async function aServer(answer: RequestListener): Promise<number> {
  const server = createServer(answer);
  await new Promise<void>((listening) => server.listen(0, HOST, listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

test("an address that nobody has is free, and stays free", async () => {
  const port = await aServer(() => {});
  expect(await addressTrial.use("127.0.0.2", port)).toEqual({ kind: "free" });
  expect(await addressTrial.use("127.0.0.2", port)).toEqual({ kind: "free" });
});

test("a daemon of groupsync is recognised by its page, with its name", async () => {
  const port = await aServer((_, response) =>
    response.end(statusPage(aDaemonState({ name: "staging" }), new Date())),
  );
  expect(await addressTrial.use(HOST, port)).toEqual({ kind: "groupsync", name: "staging" });
});

test("another server, or one that hangs up, only means that the address is taken", async () => {
  const taken = { kind: "refused", reason: expect.stringContaining("EADDRINUSE") };
  expect(await addressTrial.use(HOST, await aServer((_, response) => response.end("<p>hello</p>")))).toEqual(
    taken,
  );
  expect(await addressTrial.use(HOST, await aServer((request) => request.socket.destroy()))).toEqual(taken);
});

test("an address of another machine can't be taken", async () => {
  expect(await addressTrial.use("192.0.2.1", 8080)).toMatchObject({ kind: "refused" });
});
