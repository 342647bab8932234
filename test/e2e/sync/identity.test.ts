import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { aWorld } from "../world.ts";

test("a ledger of another service stops the run before any request", async () => {
  const world = await aWorld({ tenants: 3 });
  await world.sync();
  const staging = await aWorld({ tenants: 0 });
  await world.configure({ service: { base_url: staging.sandbox.baseUrl } });
  world.env.GROUPSYNC_API_KEY = staging.sandbox.apiKey;
  await world.addTenants(4, 4);

  const { code, report } = await world.sync();
  expect(code).toBe(1);
  expect(report).toMatchObject({
    outcome: "failed",
    requests: 0,
    errors: [{ code: "SERVICE_CHANGED", message: expect.stringContaining(staging.sandbox.baseUrl) }],
  });
  expect(await staging.requests()).toMatchObject({ total: 0 });
});

test("an API key of another team is noticed at the first answer, and the group made there is deleted", async () => {
  const world = await aWorld({ tenants: 3 });
  await world.sync();
  const before = await world.stored();
  await world.serve({ teamId: 2 });
  await world.addTenants(4, 50);

  const { code, report } = await world.sync();
  expect(code).toBe(1);
  expect(report).toMatchObject({
    outcome: "failed",
    created: 0,
    requests: 2,
    errors: [{ code: "TEAM_CHANGED", message: expect.stringMatching(/team 2.*team 1/) }],
  });
  expect((await world.requests()).by_operation).toMatchObject({ GET: { 200: 1 }, DELETE: { 200: 1 } });
  expect(await world.live()).toEqual(before);
  expect(await world.stored()).toEqual(before);

  await world.serve({ teamId: 1 });
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 47, unchanged: 3 } });
  expect(await world.stored()).toEqual(await world.live());
});

test("syncs over TLS with a certificate in NODE_EXTRA_CA_CERTS", async () => {
  const world = await aWorld({ tenants: 30, service: { tls: true } });
  const certificate = join(world.folder, "certificate.pem");
  await writeFile(certificate, world.sandbox.certificate ?? "");
  world.env.NODE_EXTRA_CA_CERTS = certificate;
  expect(world.sandbox.baseUrl).toMatch(/^https:/);
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 30 } });
  expect(await world.stored()).toEqual(await world.live());
  // Connections are kept, although every GET has a body.
  expect((await world.requests()).connections).toBeLessThanOrEqual(8);
});
