import { generateKeyPairSync } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { grpc } from "google-gax";
import { setBackend } from "google-logging-utils";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { gcpStore } from "../../../src/adapters/token-stores/gcp-store.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import { rejection } from "../../contracts/collect.ts";
import { everythingIn } from "../../contracts/everything-in.ts";
import { secretStoreContract } from "../../contracts/token-store.ts";
import { aCertificateAuthority } from "../../support/servers/certificates.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { realSecretStoreSuite } from "./a-real-store.ts";
import { aSecretPlace, faultsOn } from "./a-secret-place.ts";
import { fault, GcpServer, PROJECT } from "./servers/gcp-server.ts";
import { serveJson } from "./servers/json-server.ts";

const { status } = grpc;
const OURS = { "managed-by": "groupsync", "groupsync-name": "default" };

async function aServer(): Promise<GcpServer> {
  const server = await GcpServer.start();
  onTestFinished(() => server.stop());
  return server;
}

async function aStore({ scope = "default" } = {}) {
  const server = await aServer();
  const store = gcpStore({ project: PROJECT, endpoint: server.endpoint, scope });
  onTestFinished(() => store.close());
  const put = (name: string, content: string, isGood = (found: Secret) => found.reveal() === content) =>
    store.put(name, new Secret(content), isGood);
  const get = async (name: string) => {
    const found = await store.get(name);
    return found?.isManaged ? found.content.reveal() : found && "not managed";
  };
  return { server, store, put, get };
}

const place = async () => {
  const server = await aServer();
  const secrets = gcpStore({ project: PROJECT, endpoint: server.endpoint, scope: "default" });
  return aSecretPlace({
    secrets,
    contents: async () => server.contents(),
    ...faultsOn(server, {
      textOf: ({ request: { name, parent, secretId, payload } }) =>
        [name, parent, `/${secretId}`, payload?.data].join("\n"),
      isWrite: ({ method }) => method === "AddSecretVersion",
      isRemoval: ({ method }) => method === "DeleteSecret",
      refusal: (token) => fault(status.INVALID_ARGUMENT, `no: ${token}`),
      denial: fault(status.PERMISSION_DENIED, "denied"),
    }),
    breakDown: async () => server.stop(),
    makeAnothers: async (name, labels) => void server.has(name, labels, "theirs"),
  });
};

secretStoreContract("Secret Manager, against a server written from the reference", place, { many: 200 });

describe("a secret of Secret Manager", () => {
  test("is made in two calls, replicated automatically, with the labels of groupsync", async () => {
    const { server, put } = await aStore();
    await put("a", "token-a");
    expect(server.calls.map(({ method }) => method)).toEqual(["CreateSecret", "AddSecretVersion"]);
    expect(server.secrets.get("a")).toMatchObject({ labels: OURS, replication: { automatic: {} } });
  });

  test.each(["My.Config", "a_b", "x".repeat(64), "A".repeat(64)])(
    "is labelled in the alphabet of labels where the config is named %s",
    async (scope) => {
      const { server, store, put } = await aStore({ scope });
      await put("a", "token-a");
      expect(server.secrets.get("a")?.labels["groupsync-name"]).toMatch(/^[a-z0-9_-]{1,63}$/);
      expect(await store.get("a")).toMatchObject({ isManaged: true });
    },
  );

  test("that a process left without a version when it died reads as none, and is filled", async () => {
    const { server, put, get } = await aStore();
    server.has("a", OURS);
    expect(await get("a")).toBeUndefined();
    await put("a", "token-a");
    expect(await get("a")).toBe("token-a");
  });

  test.each(["DISABLED", "DESTROYED"] as const)("whose newest version is %s reads as none", async (state) => {
    const { server, put, get } = await aStore();
    const { versions } = server.has("a", OURS, "token-1", "token-2");
    const [, newest] = versions;
    if (newest) newest.state = state;
    expect(await get("a")).toBeUndefined();
    await put("a", "token-2");
    expect(await get("a")).toBe("token-2");
    expect(server.states("a")).toEqual(["DESTROYED", "DESTROYED", "ENABLED"]);
  });

  test("keeps the newest version only, also after a clean-up that failed in passing", async () => {
    const { server, put } = await aStore();
    for (const content of ["token-1", "token-2"]) await put("a", content);
    expect(server.states("a")).toEqual(["DESTROYED", "ENABLED"]);
    server.instead = ({ method }) =>
      method === "DestroySecretVersion" ? fault(status.UNAVAILABLE, "later") : undefined;
    await put("a", "token-3");
    expect(server.states("a")).toEqual(["DESTROYED", "ENABLED", "ENABLED"]);
    server.instead = () => undefined;
    await put("a", "token-4");
    expect(server.states("a")).toEqual(["DESTROYED", "DESTROYED", "DESTROYED", "ENABLED"]);
  });

  test("leaves a version alone that is to be destroyed later: the project may say so", async () => {
    const { server, put } = await aStore();
    const { versions } = server.has("a", OURS, "token-1", "token-2");
    versions[0] = { state: "DISABLED", data: Buffer.from("token-1"), scheduledDestroyTime: { seconds: 1 } };
    await put("a", "token-3");
    expect(server.states("a")).toEqual(["DISABLED", "DESTROYED", "ENABLED"]);
  });

  test("can't be written where its old versions may not be destroyed: that right is missing", async () => {
    const { server, put } = await aStore();
    await put("a", "token-1");
    server.instead = ({ method }) =>
      method === "DestroySecretVersion" ? fault(status.PERMISSION_DENIED, "no") : undefined;
    expect(await rejection(put("a", "token-2"))).toMatchObject({ problem: "unavailable" });
  });

  test("is not printed by the client, whatever GOOGLE_SDK_NODE_LOGGING says", async () => {
    vi.stubEnv("GOOGLE_SDK_NODE_LOGGING", "all");
    setBackend(undefined);
    const print = vi.spyOn(console, "error").mockReturnValue();
    onTestFinished(() => {
      vi.unstubAllEnvs();
      print.mockRestore();
    });
    const { put } = await aStore();
    await put("a", "token-a");
    expect(print).not.toHaveBeenCalled();
  });

  test("that can't be made and can't be found either is asked for again", async () => {
    const { server, put } = await aStore();
    server.instead = ({ method }) =>
      method === "CreateSecret" ? fault(status.ALREADY_EXISTS, "still") : undefined;
    expect(await rejection(put("a", "token-a"))).toMatchObject({ problem: "passing" });
  });

  test("that is somebody else's has its content left unread", async () => {
    const { server, store } = await aStore();
    server.has("a", {}, "theirs");
    expect(await store.get("a")).toMatchObject({ isManaged: false });
    expect(server.called("AccessSecretVersion")).toBe(0);
  });

  test("that somebody else has made his own meanwhile is not removed", async () => {
    const { server, store, put } = await aStore();
    await put("a", "token-a");
    server.instead = ({ method }) => {
      if (method === "DeleteSecret") server.has("a", {}, "theirs").etag = '"2"';
      return undefined;
    };
    expect(await rejection(store.remove("a"))).toMatchObject({ problem: "refused" });
    expect(server.contents()).toEqual({ a: "theirs" });
  });
});

describe("what Secret Manager answers", () => {
  const SECRET = "hush-hush";

  test.each([
    ["RESOURCE_EXHAUSTED", "throttled", /quota/],
    ["UNAVAILABLE", "passing", /reached/],
    ["ABORTED", "passing", /reached/],
    ["DEADLINE_EXCEEDED", "passing", /reached/],
    ["INTERNAL", "passing", /reached/],
    ["PERMISSION_DENIED", "unavailable", /roles\/secretmanager\.admin/],
    ["UNAUTHENTICATED", "unavailable", /default credentials/],
    ["UNIMPLEMENTED", "unavailable", /endpoint/],
    ["INVALID_ARGUMENT", "refused", /64 KiB/],
    ["FAILED_PRECONDITION", "refused", /policy/],
  ] as const)("%s means %s, and what it quotes is not passed on", async (code, problem, hint) => {
    const { server, put } = await aStore();
    const metadata = new grpc.Metadata();
    metadata.set("x-echo", SECRET);
    server.instead = () => fault(status[code], `${SECRET} ${code}`, metadata);
    const error = await rejection(put("a", SECRET));
    expect(error).toMatchObject({ problem, hint: expect.stringMatching(hint), retryAfterMs: undefined });
    expect(everythingIn(error)).not.toContain(SECRET);
    // Its patience is not the client's.
    expect(server.calls).toHaveLength(code === "UNAUTHENTICATED" ? 2 : 1);
  });

  test("a login that has expired is made again, once", async () => {
    const { server, put, get } = await aStore();
    let refusals = 1;
    server.instead = () => (refusals-- > 0 ? fault(status.UNAUTHENTICATED, "expired") : undefined);
    await put("a", "token-a");
    expect(await get("a")).toBe("token-a");
  });

  test("a project that isn't there is named", async () => {
    const { server } = await aStore();
    const store = gcpStore({ project: "no-project", endpoint: server.endpoint, scope: "default" });
    onTestFinished(() => store.close());
    const error = await rejection(store.put("a", new Secret("token-a"), () => false));
    expect(error).toMatchObject({ hint: expect.stringContaining("tokens.project") });
  });

  test("another server's page is no answer", async () => {
    const { address } = await serveJson(() => ({ status: 502, body: "<html>hush-hush</html>" }));
    const store = gcpStore({ project: PROJECT, endpoint: address, scope: "default" });
    onTestFinished(() => store.close());
    const error = await rejection(store.get("a"));
    expect(error).toMatchObject({ problem: "passing" });
    expect(everythingIn(error)).not.toContain(SECRET);
  });
});

realSecretStoreSuite("Secret Manager", "GROUPSYNC_TEST_GCP_PROJECT", (project, scope) =>
  gcpStore({ project, scope }),
);

const authority = await aCertificateAuthority("Secret Manager");

/** Makes the client trust our authority. GRPC_DEFAULT_SSL_ROOTS_FILE_PATH does so too, but only before the client is loaded. */
function trustOurAuthority(): void {
  const require = createRequire(createRequire(import.meta.url).resolve("google-gax"));
  const roots: { getDefaultRootsData(): Buffer | null } = require("@grpc/grpc-js/build/src/tls-helpers.js");
  const read = vi.spyOn(roots, "getDefaultRootsData").mockReturnValue(Buffer.from(authority.cert));
  onTestFinished(() => read.mockRestore());
}

/** Over TLS, as Google's own are, with the application default credentials that this file has. */
async function aStoreOverTls(credentials: string) {
  const file = join(temporaryFolder(), "credentials.json");
  await writeFile(file, credentials);
  vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", file);
  onTestFinished(() => void vi.unstubAllEnvs());
  trustOurAuthority();
  const { cert, key } = await authority.issue(["localhost"]);
  const pair = { cert_chain: Buffer.from(cert), private_key: Buffer.from(key) };
  const server = await GcpServer.start(grpc.ServerCredentials.createSsl(null, [pair]));
  onTestFinished(() => server.stop());
  const endpoint = server.endpoint.replace("http://127.0.0.1", "https://localhost");
  const store = gcpStore({ project: PROJECT, endpoint, scope: "default" });
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
  const { server, store } = await aStoreOverTls(JSON.stringify(ACCOUNT));
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
  const { server, store } = await aStoreOverTls(credentials);
  const error = await rejection(store.get("a"));
  expect(error).toMatchObject({ problem: "unavailable", message: "cannot log in" });
  expect(everythingIn(error)).not.toMatch(/hush-hush|BEGIN/);
  expect(server.calls).toEqual([]);
});
