import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { Pool } from "undici";
import { expect, onTestFinished, test } from "vitest";
import { exchange } from "../../../src/adapters/service/exchange.ts";
import { connectorWithoutInterim } from "../../../src/adapters/service/interim-answers.ts";
import { SyncError } from "../../../src/core/errors.ts";
import { aCertificateAuthority } from "../../support/certificates.ts";
import { listening } from "../listening.ts";

test("what forbids a request while TLS is being agreed on is heard: nothing is sent", async () => {
  const authority = await aCertificateAuthority("a test's authority");
  const service = createTlsServer(await authority.issue(["127.0.0.1"]));
  const received: Buffer[] = [];
  service.on("secureConnection", (session) => session.on("data", (chunk) => received.push(chunk)));
  const { port: servicePort } = await listening(service);
  // Stands before the service, and lets nothing through at first.
  const gate = createServer();
  const { port } = await listening(gate);
  const pool = new Pool(`https://127.0.0.1:${port}`, {
    connect: connectorWithoutInterim({ ca: authority.cert }),
  });
  onTestFinished(() => pool.destroy());

  const forbidden = new SyncError("LEASE_LOST", "too late");
  const asked: string[] = [];
  let isHeld = true;
  const exchanged = exchange(pool, {
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
