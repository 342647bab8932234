import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { Pool } from "undici";
import { expect, onTestFinished, test } from "vitest";
import { sendRequest } from "../../../src/adapters/service/http-request.ts";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { aCertificateAuthority } from "../../support/servers/certificates.ts";
import { listening } from "../../support/servers/listening.ts";

test("beforeSend is called after the TLS handshake: if it throws, nothing is sent", async () => {
  const authority = await aCertificateAuthority("a test's authority");
  const service = createTlsServer(await authority.issue(["127.0.0.1"]));
  const received: Buffer[] = [];
  service.on("secureConnection", (session) => session.on("data", (chunk) => received.push(chunk)));
  const { port: servicePort } = await listening(service);
  // Stands before the service, and lets nothing through at first.
  const gate = createServer();
  const { port } = await listening(gate);
  const pool = new Pool(`https://127.0.0.1:${port}`, { connect: { ca: authority.cert } });
  onTestFinished(() => pool.destroy());

  const forbidden = new SyncError("LEASE_LOST", "too late");
  const asked: string[] = [];
  let isHeld = true;
  const exchanged = sendRequest(pool, {
    where: "the gate",
    options: { method: "POST", path: "/api/user", body: "{}" },
    timeoutMs: 30_000,
    beforeSend: () => {
      asked.push(isHeld ? "held" : "lost");
      if (!isHeld) throw forbidden;
    },
  });
  const outcome = expect(exchanged).rejects.toBe(forbidden);
  const [client] = (await once(gate, "connection")) as [Socket];
  await once(client, "readable");
  expect(asked).toEqual([]);

  isHeld = false;
  const through = connect(servicePort, "127.0.0.1");
  client.pipe(through).pipe(client);
  client.once("close", () => through.end());
  await Promise.all([outcome, once(through, "close")]);
  expect(asked).toEqual(["lost"]);
  expect(received).toEqual([]);
});
