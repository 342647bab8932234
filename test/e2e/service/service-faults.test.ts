import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { behindTls } from "../../support/servers/behind-tls.ts";
import { aSelfSignedCertificate } from "../../support/servers/certificates.ts";
import { aWorld } from "../world.ts";

test("syncs over TLS with a certificate in NODE_EXTRA_CA_CERTS", async () => {
  const tls = await aSelfSignedCertificate();
  const world = await aWorld({ tenants: 50 });
  const front = await behindTls(world.sandbox.baseUrl, tls);
  onTestFinished(() => front.close());
  await world.configure({ service: { base_url: front.baseUrl } });
  const certificate = join(world.folder, "certificate.pem");
  await writeFile(certificate, tls.cert);
  world.env.NODE_EXTRA_CA_CERTS = certificate;
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 50 } });
  expect(await world.stored()).toEqual(await world.live());
  // Connections are kept, although every GET has a body.
  expect((await world.requests()).connections).toBeLessThanOrEqual(8);
});
