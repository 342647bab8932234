import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { behindTls } from "../../support/servers/behind-tls.ts";
import { aSelfSignedCertificate, type Certificate } from "../../support/servers/certificates.ts";
import { aWorld, type World } from "../world.ts";

/** A world whose config names a TLS server in front of the sandbox. */
async function overTls(certificate: Certificate): Promise<World> {
  const world = await aWorld({ tenants: 50 });
  const front = await behindTls(world.sandbox.baseUrl, certificate);
  onTestFinished(() => front.close());
  await world.configure({ service: { base_url: front.baseUrl } });
  return world;
}

async function expectRecovery(world: World): Promise<void> {
  await world.serve({});
  expect(await world.sync()).toMatchObject({ code: 0, report: { outcome: "ok" } });
  expect(await world.stored()).toEqual(await world.live());
}

test("a wrong API key ends the run, once a request that names no group is refused too", async () => {
  const world = await aWorld({ tenants: 50 });
  const { GROUPSYNC_API_KEY: key = "" } = world.env;
  world.env.GROUPSYNC_API_KEY = "not-the-key-of-this-service";
  const { code, stdout, stderr } = await world.run("sync");
  expect(code).toBe(1);
  expect(stdout).toMatch(/^The sync failed: GET was answered HTTP 401[\s\S]*check service\.api_key/);
  expect(stdout + stderr).not.toContain("not-the-key-of-this-service");
  expect(await world.requests()).toMatchObject({ total: 2 });
  world.env.GROUPSYNC_API_KEY = key;
  await expectRecovery(world);
});

// At the same time, because each sync waits between its attempts.
test("a service that is unreachable, or fails for every group, ends the run early", async () => {
  const [down, broken, untrusted] = await Promise.all([
    aWorld({ tenants: 50 }),
    aWorld({ tenants: 50, service: { shares: { fail: 1 } } }),
    overTls(await aSelfSignedCertificate()),
  ]);
  await down.sandbox.close();
  const [whenDown, whenBroken, whenUntrusted] = await Promise.all([
    down.run("sync"),
    broken.sync(),
    untrusted.run("sync"),
  ]);

  expect(whenDown.code).toBe(1);
  expect(whenDown.stdout).toMatch(
    /the service is not available: .*ECONNREFUSED[\s\S]*check service\.base_url/,
  );
  expect(whenUntrusted.code).toBe(1);
  expect(whenUntrusted.stdout).toMatch(
    /the service is not available: .*self-signed certificate[\s\S]*TLS certificate/,
  );
  expect(whenBroken.code).toBe(1);
  expect(whenBroken.report).toMatchObject({ outcome: "failed", created: 0 });
  expect(whenBroken.report.errors).toContainEqual({
    user_group_id: null,
    code: "SERVICE_UNAVAILABLE",
    message: expect.stringContaining("HTTP 500: internal error"),
  });
  expect(Object.keys((await broken.requests()).by_group)).toHaveLength(5);
  await expectRecovery(broken);
});

test("syncs over TLS with a certificate in NODE_EXTRA_CA_CERTS", async () => {
  const tls = await aSelfSignedCertificate();
  const world = await overTls(tls);
  const certificate = join(world.folder, "certificate.pem");
  await writeFile(certificate, tls.cert);
  world.env.NODE_EXTRA_CA_CERTS = certificate;
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 50 } });
  expect(await world.stored()).toEqual(await world.live());
  // Connections are kept, although every GET has a body.
  expect((await world.requests()).connections).toBeLessThanOrEqual(8);
});
