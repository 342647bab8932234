import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { Config } from "../../src/config/config.ts";
import { loadConfig } from "../../src/config/load.ts";
import { expand, parseDockerfile } from "./dockerfile.ts";

// biome-ignore lint/suspicious/noExplicitAny: what a manifest holds is what is asserted
type Manifest = any;

const fileOf = (name: string): string => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");

/** Every block of YAML in the README, each of its documents. */
const blocks = [...fileOf("README.md").matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text = ""]) => ({
  text,
  documents: parseAllDocuments(text),
}));
const manifests: Manifest[] = blocks.flatMap(({ documents }) => documents.map((document) => document.toJS()));
const ofKind = (kind: string): Manifest => manifests.find((manifest) => manifest.kind === kind);
const containerConfig = blocks.find(({ text }) => text.includes("/run/secrets/groupsync/"))?.text ?? "";

const image = new Map(parseDockerfile(fileOf("Dockerfile")).map(({ name, text }) => [name, text]));
const [configFile = "", port = ""] = ["GROUPSYNC_CONFIG=(\\S+)", "GROUPSYNC_HTTP_LISTEN=\\S+:(\\d+)"].map(
  (pattern) => new RegExp(pattern).exec(expand(image.get("ENV") ?? "", new Map()))?.[1],
);
const configFolder = configFile.replace(/\/config\.yaml$/, "");

test("all of its YAML can be read", () => {
  expect(
    blocks.flatMap(({ documents }) => documents.flatMap(({ errors, warnings }) => [errors, warnings]).flat()),
  ).toEqual([]);
});

/** The config as a container has it, with these variables and these files below /run/secrets. */
function load(variables: readonly string[], secrets: readonly string[]): Config {
  return loadConfig(configFile, {
    env: Object.fromEntries(variables.map((name) => [name, "postgres://db/shop?sslmode=require"])),
    readFile(path) {
      if (path === configFile) return containerConfig;
      if (secrets.includes(path)) return "k3y";
      throw new Error(`nothing is mounted at ${path}`);
    },
  });
}

test("compose.yaml runs the image as it is meant to be, with the config that it mounts", () => {
  const { groupsync } = manifests.find((manifest) => manifest.services).services;
  expect(groupsync).toMatchObject({
    ...{ read_only: true, tmpfs: ["/tmp"], cap_drop: ["ALL"], security_opt: ["no-new-privileges:true"] },
    ...{ restart: "unless-stopped", stop_grace_period: "30s", ports: [`127.0.0.1:8080:${port}`] },
  });
  const folders = groupsync.volumes.map((volume: string) => volume.split(":")[1]);
  expect(folders).toEqual([configFolder, "/run/secrets/groupsync"]);
  const config = load(Object.keys(groupsync.environment), [`${folders[1]}/api-key`]);
  expect(Number.parseInt(groupsync.stop_grace_period, 10) * 1000).toBeGreaterThan(config.shutdownTimeoutMs);
});

describe.each([
  ["Deployment", ({ spec }: Manifest) => spec.template.spec, undefined, "Always"],
  ["Job", ({ spec }: Manifest) => spec.template.spec, ["sync", "--json"], "Never"],
  ["CronJob", ({ spec }: Manifest) => spec.jobTemplate.spec.template.spec, ["sync", "--json"], "Never"],
] as const)("the pod of the %s", (kind, podOf, args, restartPolicy) => {
  const pod = podOf(ofKind(kind));
  const [container] = pod.containers;

  test("is locked down, and has room for a large plan", () => {
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    });
    expect(image.get("USER")).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    expect(container.securityContext).toEqual({
      ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } },
    });
    expect(container.resources).toMatchObject({
      requests: { cpu: expect.any(String), memory: expect.stringMatching(/Mi$/) },
      limits: { memory: expect.stringMatching(/Mi$/) },
    });
    expect(volumeAt(pod, "/tmp").emptyDir).toBeDefined();
  });

  test("runs the right command, and ends before it is killed", () => {
    expect(container.args).toEqual(args);
    expect(container.command).toBeUndefined();
    expect(pod.restartPolicy ?? "Always").toBe(restartPolicy);
    const variables = container.env.map(({ name }: Manifest) => name);
    const { items } = volumeAt(pod, "/run/secrets/groupsync").secret;
    expect(volumeAt(pod, configFolder).configMap).toEqual({ name: "groupsync" });
    const config = load(
      variables,
      items.map(({ path }: Manifest) => `/run/secrets/groupsync/${path}`),
    );
    expect(pod.terminationGracePeriodSeconds * 1000).toBeGreaterThan(config.shutdownTimeoutMs);
  });
});

test("the Deployment is asked by the kubelet, and its page is reached whether it is ready or not", () => {
  const [{ ports, livenessProbe, readinessProbe }] = ofKind("Deployment").spec.template.spec.containers;
  expect(ports).toEqual([{ name: "http", containerPort: Number(port) }]);
  expect(image.get("EXPOSE")).toBe(port);
  expect(livenessProbe.httpGet).toEqual({ path: "/healthz", port: "http" });
  expect(readinessProbe.httpGet).toEqual({ path: "/readyz", port: "http" });
  const { template, selector } = ofKind("Deployment").spec;
  expect(template.metadata.labels).toEqual(selector.matchLabels);
  expect(ofKind("Service").spec).toMatchObject({
    ...{ selector: selector.matchLabels, publishNotReadyAddresses: true },
    ports: [{ targetPort: "http" }],
  });
});

test("no two CronJobs at a time, and no second try of what only somebody can mend", () => {
  expect(ofKind("CronJob").spec).toMatchObject({
    concurrencyPolicy: "Forbid",
    jobTemplate: { spec: { backoffLimit: 0 } },
  });
  expect(ofKind("Job").spec.podFailurePolicy.rules).toEqual([
    { action: "FailJob", onExitCodes: { operator: "In", values: [3, 4, 64, 78] } },
  ]);
});

function volumeAt(pod: Manifest, path: string): Manifest {
  const mount = pod.containers[0].volumeMounts.find(({ mountPath }: Manifest) => mountPath === path);
  return pod.volumes.find(({ name }: Manifest) => name === mount.name);
}
