import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { grpc } from "google-gax";
import { expect, onTestFinished, test, vi } from "vitest";
import { GcpStore } from "../../../../src/adapters/token-stores/gcp/gcp-store.ts";
import { Secret } from "../../../../src/core/secret/secret.ts";
import { rejection } from "../../../contracts/collect.ts";
import { everythingIn } from "../../../contracts/everything-in.ts";
import { aCertificateAuthority } from "../../../support/servers/certificates.ts";
import { GcpServer, PROJECT } from "./gcp-server.ts";

const authority = await aCertificateAuthority("Secret Manager");

/** Makes the client trust our authority. GRPC_DEFAULT_SSL_ROOTS_FILE_PATH does so too, but only before the client is loaded. */
function trustOurAuthority(): void {
  const require = createRequire(createRequire(import.meta.url).resolve("google-gax"));
  const roots: { getDefaultRootsData(): Buffer | null } = require("@grpc/grpc-js/build/src/tls-helpers.js");
  const read = vi.spyOn(roots, "getDefaultRootsData").mockReturnValue(Buffer.from(authority.cert));
  onTestFinished(() => read.mockRestore());
}

/** Over TLS, as Google's own are, with the application default credentials that this file has. */
async function aStore(credentials: string) {
  const folder = await mkdtemp(join(tmpdir(), "groupsync-gcp-"));
  const file = join(folder, "credentials.json");
  await writeFile(file, credentials);
  vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", file);
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true });
  });
  trustOurAuthority();
  const { cert, key } = await authority.issue(["localhost"]);
  const pair = { cert_chain: Buffer.from(cert), private_key: Buffer.from(key) };
  const server = await GcpServer.start(grpc.ServerCredentials.createSsl(null, [pair]));
  onTestFinished(() => server.stop());
  const endpoint = server.endpoint.replace("http://127.0.0.1", "https://localhost");
  const store = new GcpStore({ project: PROJECT, endpoint, scope: "default" });
  onTestFinished(() => store.close());
  return { server, store };
}

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const KEY = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const ACCOUNT = {
  type: "service_account",
  project_id: "a-project",
  private_key_id: "1",
  private_key: KEY,
  client_email: "groupsync@a-project.iam.gserviceaccount.com",
};

test("Secret Manager gets a login by the application default credentials, over TLS", async () => {
  const { server, store } = await aStore(JSON.stringify(ACCOUNT));
  await store.prepare();
  await store.put("a", new Secret("token-a"), () => false);
  const [, claims = ""] = server.calls[0]?.token?.split(".") ?? [];
  expect(JSON.parse(Buffer.from(claims, "base64url").toString())).toMatchObject({
    iss: ACCOUNT.client_email,
  });
});

test.each([
  ["that can't be read", `not JSON, but ${KEY}`],
  ["without a key that signs", JSON.stringify({ ...ACCOUNT, private_key: "hush-hush" })],
  ["of no kind", JSON.stringify({ type: "hush-hush" })],
])("credentials %s make the store unavailable, and are not in the error", async (_, credentials) => {
  const { server, store } = await aStore(credentials);
  const error = await rejection(store.prepare());
  expect(error).toMatchObject({ problem: "unavailable", message: "cannot log in" });
  expect(everythingIn(error)).not.toMatch(/hush-hush|BEGIN/);
  expect(server.calls).toEqual([]);
});
