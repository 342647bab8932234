import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { stringify } from "yaml";
import { TLS_DATABASES, type TlsServer } from "../../adapters/sql/connection/tls-servers.ts";
import { aCertificateAuthority } from "../../support/servers/certificates.ts";
import type { Ended } from "../program.ts";
import { runCommand } from "../warm-program.ts";

const { name, isThere, words, start } = TLS_DATABASES[inject("databaseKind")];

describe.skipIf(!isThere)(`the program and the TLS of ${name}:`, () => {
  const folder = mkdtempSync(join(tmpdir(), "groupsync-e2e-"));
  const ca = join(folder, "ca.pem");
  let server: TlsServer;
  beforeAll(async () => {
    const authority = await aCertificateAuthority("the CA");
    writeFileSync(ca, authority.cert);
    server = await start(await authority.issue(["localhost"]));
  });
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  async function plan(parameters: Record<string, string>, env: Record<string, string> = {}): Promise<Ended> {
    const url = new URL(server.url);
    url.hostname = "localhost";
    url.search = new URLSearchParams(parameters).toString();
    const config = join(folder, "config.yaml");
    writeFileSync(
      config,
      stringify({
        service: { base_url: "http://127.0.0.1:1", api_key: "k3y" },
        source: { url: url.href, query: "SELECT 'cus-1' AS id, 'Alderbrook' AS company_name" },
        group: { id: "id", name: "company_name" },
      }),
    );
    const ended = await runCommand(["--config", config, "plan"], env).ended;
    expect(ended.stdout + ended.stderr).not.toContain(url.password);
    expect(ended.stderr).not.toMatch(/SECURITY WARNING|^ {4}at /m);
    return ended;
  }

  test("accepts a server whose CA the url names", async () => {
    expect(await plan({ [words.mode]: words.on, [words.ca]: ca })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("+ cus-1"),
    });
  });

  test("accepts a server whose CA is in NODE_EXTRA_CA_CERTS", async () => {
    expect(await plan({ [words.mode]: words.on }, { NODE_EXTRA_CA_CERTS: ca })).toMatchObject({ code: 0 });
  });

  test("refuses a server with an unknown CA", async () => {
    const { code, stderr } = await plan({ [words.mode]: words.on });
    expect(code).toBe(1);
    expect(stderr).toMatch(/certificate[\s\S]*name the CA's file in the url: ssl/);
  });
});
