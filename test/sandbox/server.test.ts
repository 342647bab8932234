import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { startSandbox } from "../../src/sandbox/server.ts";
import { aSelfSignedCertificate } from "../support/servers/certificates.ts";
import { aClient, aGroup } from "./client.ts";

test("close cuts off requests in flight", async () => {
  const sandbox = await startSandbox({ poison: new Map([["t-1", "hang"]]) });
  const client = aClient(sandbox);
  const waiting = client.call("GET", aGroup()).catch(() => "cut");
  await expect.poll(async () => (await client.page("/sandbox/requests")).json.max_in_flight).toBe(1);
  await sandbox.close();
  expect(await waiting).toBe("cut");
});

test("close doesn't wait for a client that never ends its TLS handshake", async () => {
  const sandbox = await startSandbox({ tls: await aSelfSignedCertificate() });
  const socket = connect(Number(new URL(sandbox.baseUrl).port), "127.0.0.1");
  await once(socket, "connect");
  const closed = once(socket, "close");
  socket.resume();
  await sandbox.close();
  await closed;
});
