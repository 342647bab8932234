import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { kubernetesStore } from "../../../src/adapters/token-stores/kubernetes-store.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import { rejection } from "../../contracts/collect.ts";
import { everythingIn } from "../../contracts/everything-in.ts";
import { aCertificateAuthority } from "../../support/servers/certificates.ts";
import { expectEachToFail } from "./a-secret-place.ts";
import type { JsonReply } from "./servers/json-server.ts";
import { aKubeconfig, aKubernetes, failure } from "./servers/kubernetes-server.ts";

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";
const never = () => false;
const secret = (text: string) => new Secret(text);

describe("a login to Kubernetes, against a server written from the reference", () => {
  test("takes namespace and context from the options before those of the kubeconfig", async () => {
    const { server, kubeconfig, store } = await aKubernetes();
    const others = [{ context: "elsewhere" }, { context: "elsewhere", namespace: "dashboards" }];
    const stores = others.map((other) =>
      kubernetesStore({ kubeconfig, key: "token", scope: "default", ...other }),
    );
    for (const one of [store, ...stores]) await one.get("t-a");
    const namespaces = server.calls.map(({ path }) => path.split("/")[4]);
    expect(namespaces).toEqual(["dashboards", "elsewhere", "dashboards"]);
    for (const one of stores) await one.close();
  });

  test("that ended in the middle of a run is read anew once", async () => {
    const { server, store, kubeconfig } = await aKubernetes();
    await store.put("t-a", secret("one"), never);
    server.token = "the-next-token";
    const before = server.calls.length;
    expect(await rejection(store.get("t-a"))).toMatchObject({ problem: "unavailable" });
    expect(server.calls.length - before).toBe(2);
    await writeFile(kubeconfig, await server.kubeconfig());
    const found = await Promise.all(Array.from({ length: 8 }, () => store.get("t-a")));
    expect(found.map((one) => one?.content.reveal())).toEqual(Array(8).fill("one"));
  });

  test("makes a new connection once a file of its certificate is another, and no earlier", async () => {
    const { server, kubeconfig, store } = await aKubernetes();
    const authority = await aCertificateAuthority("the clients' CA");
    const files = [await aKubeconfig(""), await aKubeconfig("")] as const;
    const renew = async () => {
      const { cert, key } = await authority.issue([]);
      await Promise.all([writeFile(files[0], cert), writeFile(files[1], key)]);
    };
    const config = JSON.parse(await server.kubeconfig());
    Object.assign(config.users[0].user, { "client-certificate": files[0], "client-key": files[1] });
    await writeFile(kubeconfig, JSON.stringify(config));
    const connections: number[] = [];
    for (const isRenewed of [true, false, true, false]) {
      if (isRenewed) await renew();
      await store.get("t-a");
      connections.push(server.connections);
    }
    expect(connections).toEqual([1, 1, 2, 2]);
  });

  test.skipIf(existsSync(SERVICE_ACCOUNT)).each([undefined, "production"])(
    "with neither a cluster nor a kubeconfig says so, and what to do (context: %s)",
    async (context) => {
      vi.stubEnv("HOME", "/nowhere");
      vi.stubEnv("KUBECONFIG", undefined);
      onTestFinished(() => void vi.unstubAllEnvs());
      const store = kubernetesStore({ context, key: "token", scope: "default" });
      const error = await rejection(store.get("t-a"));
      expect(error).toMatchObject({
        message: expect.stringContaining("there is no kubeconfig"),
        hint: expect.stringMatching(/tokens\.kubeconfig.*KUBECONFIG.*pod/),
      });
    },
  );

  test("names its namespace in its title once it is known", async () => {
    const { store } = await aKubernetes();
    expect(store.title).toBe("Kubernetes");
    await store.get("t-a");
    expect(store.title).toMatch(/^Kubernetes, namespace \w+$/);
  });

  test.each([
    ["that isn't there", undefined, "tokens.kubeconfig"],
    ["that isn't YAML", "s3cr3t: [", "tokens.kubeconfig"],
    ["that is empty", "{}", "tokens.context"],
  ])("with a kubeconfig %s says so, and nothing of what is in it", async (_, text, hint) => {
    const kubeconfig = text === undefined ? "/nowhere/s3cr3t" : await aKubeconfig(text);
    const store = kubernetesStore({ kubeconfig, key: "token", scope: "default" });
    const error = await rejection(store.get("t-a"));
    expect(error).toMatchObject({ problem: "unavailable", hint: expect.stringContaining(hint) });
    expect(everythingIn(error)).not.toContain("s3cr3t");
  });

  test("with a context that isn't there, or credentials that can't be had, says so", async () => {
    const { server, kubeconfig, store } = await aKubernetes({ context: "nowhere" });
    expect(await rejection(store.get("t-a"))).toMatchObject({
      hint: expect.stringContaining("tokens.context"),
    });
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "/nowhere/s3cr3t", args: [] };
    const config = JSON.parse(await server.kubeconfig());
    await writeFile(kubeconfig, JSON.stringify({ ...config, users: [{ name: "me", user: { exec } }] }));
    const other = kubernetesStore({ kubeconfig, key: "token", scope: "default" });
    const error = await rejection(other.get("t-a"));
    expect(error).toMatchObject({ problem: "unavailable", hint: expect.stringContaining("exec plugin") });
    expect(everythingIn(error)).not.toContain("s3cr3t");
  });
});

describe("what Kubernetes answers, against a server written from the reference", () => {
  const html = "<html>s3cr3t</html>";
  const notTheApi = {
    problem: "unavailable",
    message: expect.stringContaining("isn't the Kubernetes API's"),
  };
  const quoting = (status: number, reason: string, message = "s3cr3t"): JsonReply => ({
    ...failure(status, reason, `${message} s3cr3t`),
    headers: { "x-s3cr3t": "s3cr3t", ...(status === 429 && { "retry-after": "7" }) },
  });
  const hint = (text: string) => ({ problem: "unavailable", hint: expect.stringContaining(text) });
  const failures: [string, JsonReply, object][] = [
    ["429", quoting(429, "TooManyRequests"), { problem: "throttled", retryAfterMs: 7000 }],
    ["500", quoting(500, "InternalError"), { problem: "passing" }],
    ["504", quoting(504, "Timeout"), { problem: "passing" }],
    ["502 in HTML", { status: 502, body: html }, { problem: "passing" }],
    ["401", quoting(401, "Unauthorized"), hint("service account")],
    ["403", quoting(403, "Forbidden"), hint("--verb=get,create,update,delete --resource=secrets")],
    ["403 of a quota", quoting(403, "Forbidden", "exceeded quota: q"), hint("ResourceQuota")],
    ["403 of an end", quoting(403, "Forbidden", "because it is being terminated"), hint("tokens.namespace")],
    ["403 in HTML", { status: 403, body: html }, notTheApi],
    ["404 in HTML", { status: 404, body: html }, notTheApi],
    ["409 in HTML", { status: 409, body: html }, notTheApi],
    ["200 in HTML", { status: 200, body: html }, notTheApi],
    [
      "200 and no JSON",
      { status: 200, body: html, headers: { "content-type": "application/json" } },
      notTheApi,
    ],
  ];
  test.each(failures)("%s", async (_, reply, expected) => {
    const { server, store } = await aKubernetes();
    server.instead = () => reply;
    await expectEachToFail(store, expected, /s3cr3t|a-service-account-token/);
  });

  test.each([
    ["an admission webhook", quoting(403, "Forbidden", 'admission webhook "x" denied the request:')],
    ["an admission policy", quoting(422, "Invalid", "ValidatingAdmissionPolicy 'x' denied request")],
    ["what is too large", quoting(413, "RequestEntityTooLarge")],
    ["what is invalid", quoting(422, "Invalid")],
  ])("%s costs that secret alone", async (_, reply) => {
    const { server, store } = await aKubernetes();
    server.instead = ({ method }) => (method === "POST" ? reply : undefined);
    const error = await rejection(store.put("t-a", secret("s3cr3t"), never));
    expect(error).toMatchObject({ problem: "refused", hint: expect.stringMatching(/./) });
    expect(everythingIn(error)).not.toContain("s3cr3t");
  });

  test("a namespace that isn't there is named", async () => {
    const { store } = await aKubernetes({ namespace: "nowhere" });
    const error = await rejection(store.put("t-a", secret("one"), never));
    expect(error).toMatchObject({ problem: "unavailable", message: expect.stringContaining("nowhere") });
    expect(error).toMatchObject({ hint: expect.stringContaining("tokens.namespace") });
  });

  test("silence ends after a while, and is retried", async () => {
    const { server, store } = await aKubernetes();
    server.instead = () => "silence";
    expect(await rejection(store.get("t-a"))).toMatchObject({
      problem: "passing",
      message: expect.stringContaining("in time"),
    });
  });

  test("a name that doesn't resolve, and an untrusted certificate, are not retried", async () => {
    const { server, kubeconfig } = await aKubernetes();
    const config = await server.kubeconfig();
    const { clusters, ...rest } = JSON.parse(config);
    const others = [
      config.replace(server.address, "https://kubernetes.invalid"),
      JSON.stringify({ ...rest, clusters: [{ name: "one", cluster: { server: server.address } }] }),
    ];
    expect(clusters).toHaveLength(1);
    for (const other of others) {
      await writeFile(kubeconfig, other);
      const store = kubernetesStore({ kubeconfig, key: "token", scope: "default" });
      expect(await rejection(store.get("t-a"))).toMatchObject({
        problem: "unavailable",
        message: expect.stringContaining("can't be reached"),
      });
    }
  });
});
