import { createServer as createTcpServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { reachService } from "../../../src/adapters/service/reach-service.ts";
import { rejection } from "../../contracts/collect.ts";
import { aSandbox } from "../../sandbox/client.ts";
import { behindTls } from "../../support/servers/behind-tls.ts";
import { aSelfSignedCertificate } from "../../support/servers/certificates.ts";
import { listening } from "../../support/servers/listening.ts";

const reach = (baseUrl: string, timeoutMs = 30_000) => reachService({ baseUrl, timeoutMs });

const unreachable = (what: RegExp, hint: string) => ({
  code: "UNREACHABLE",
  message: expect.stringMatching(what),
  hint: expect.stringContaining(hint),
});

test("a service is reached without a request", async () => {
  const { baseUrl, client } = await aSandbox();
  expect(await reach(baseUrl)).toEqual({ at: new URL(baseUrl).host, tls: null });
  expect((await client.page("/sandbox/requests")).json.total).toBe(0);
});

test("the way ends at a name that nobody knows", async () => {
  const error = await rejection(reach("https://nobody.invalid"));
  expect(error).toMatchObject(unreachable(/nobody\.invalid can't be looked up/, "name server"));
});

test("the way ends at a port where nobody listens", async () => {
  const error = await rejection(reach("http://127.0.0.1:1"));
  expect(error).toMatchObject(unreachable(/cannot connect to 127\.0\.0\.1:1/, "firewall"));
});

test("the way ends at a certificate that nobody vouches for, or at no TLS at all", async () => {
  const { baseUrl } = await aSandbox();
  const front = await behindTls(baseUrl, await aSelfSignedCertificate());
  onTestFinished(() => front.close());
  const error = await rejection(reach(front.baseUrl));
  expect(error).toMatchObject(unreachable(/TLS handshake with .* failed/, "NODE_EXTRA_CA_CERTS"));
  expect(await rejection(reach(baseUrl.replace("http:", "https:")))).toMatchObject(
    unreachable(/TLS handshake/, "certificate"),
  );
});

test("the way ends at a handshake that nobody answers", async () => {
  const { port } = await listening(createTcpServer(() => {}));
  const error = await rejection(reach(`https://127.0.0.1:${port}`, 200));
  expect(error).toMatchObject(unreachable(/no answer within 200 ms/, "certificate"));
});
