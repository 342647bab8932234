import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { KubernetesStore } from "../../../../src/adapters/token-stores/kubernetes/kubernetes-store.ts";
import { Secret } from "../../../../src/core/secret/secret.ts";
import { rejection } from "../../../contracts/collect.ts";
import { everythingIn } from "../../../contracts/everything-in.ts";
import { aKubeconfig, aKubernetes } from "./a-kubernetes.ts";

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";
const never = () => false;
const secret = (text: string) => new Secret(text);

describe("a login to Kubernetes, against a server written from the reference", () => {
  test("takes namespace and context from the options before those of the kubeconfig", async () => {
    const { server, kubeconfig, store } = await aKubernetes();
    const others = [{ context: "elsewhere" }, { context: "elsewhere", namespace: "dashboards" }];
    const stores = others.map(
      (other) => new KubernetesStore({ kubeconfig, key: "token", scope: "default", ...other }),
    );
    for (const one of [store, ...stores]) await one.holdsAny();
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

  test.skipIf(existsSync(SERVICE_ACCOUNT)).each([undefined, "production"])(
    "with neither a cluster nor a kubeconfig says so, and what to do (context: %s)",
    async (context) => {
      vi.stubEnv("HOME", "/nowhere");
      vi.stubEnv("KUBECONFIG", undefined);
      onTestFinished(() => void vi.unstubAllEnvs());
      const store = new KubernetesStore({ context, key: "token", scope: "default" });
      const error = await rejection(store.prepare());
      expect(error).toMatchObject({
        message: expect.stringContaining("there is no kubeconfig"),
        hint: expect.stringMatching(/tokens\.kubeconfig.*KUBECONFIG.*pod/),
      });
    },
  );

  test("names its namespace in its title once it is known", async () => {
    const { store } = await aKubernetes();
    expect(store.title).toBe("Kubernetes");
    await store.prepare();
    expect(store.title).toMatch(/^Kubernetes, namespace \w+$/);
  });

  test.each([
    ["that isn't there", undefined, "tokens.kubeconfig"],
    ["that isn't YAML", "s3cr3t: [", "tokens.kubeconfig"],
    ["that is empty", "{}", "tokens.context"],
  ])("with a kubeconfig %s says so, and nothing of what is in it", async (_, text, hint) => {
    const kubeconfig = text === undefined ? "/nowhere/s3cr3t" : await aKubeconfig(text);
    const store = new KubernetesStore({ kubeconfig, key: "token", scope: "default" });
    const error = await rejection(store.prepare());
    expect(error).toMatchObject({ problem: "unavailable", hint: expect.stringContaining(hint) });
    expect(everythingIn(error)).not.toContain("s3cr3t");
  });

  test("with a context that isn't there, or credentials that can't be had, says so", async () => {
    const { server, kubeconfig, store } = await aKubernetes({ context: "nowhere" });
    expect(await rejection(store.prepare())).toMatchObject({
      hint: expect.stringContaining("tokens.context"),
    });
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "/nowhere/s3cr3t", args: [] };
    const config = JSON.parse(await server.kubeconfig());
    await writeFile(kubeconfig, JSON.stringify({ ...config, users: [{ name: "me", user: { exec } }] }));
    const other = new KubernetesStore({ kubeconfig, key: "token", scope: "default" });
    const error = await rejection(other.prepare());
    expect(error).toMatchObject({ problem: "unavailable", hint: expect.stringContaining("exec plugin") });
    expect(everythingIn(error)).not.toContain("s3cr3t");
  });
});
