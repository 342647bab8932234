import { describe, expect, test } from "vitest";
import {
  documentsIn,
  image,
  kubernetesFiles,
  loadDeployed,
  type Manifest,
  MYSQL_SECRETS,
  secretsAt,
  textOf,
} from "./files.ts";
import { strangersIn } from "./kubernetes-schema.ts";

const manifests: Manifest[] = kubernetesFiles.flatMap(documentsIn);
const ofKind = (kind: string): Manifest => manifests.find((manifest) => manifest.kind === kind);
const [uid, gid] = image.user.split(":").map(Number);
const port = Number(image.port);

test("the schema finds a misspelled key and a value of another type", () => {
  const spec = { replicas: "1", template: { spec: { containers: [{ name: "x", livenesProbe: {} }] } } };
  expect(strangersIn({ kind: "Deployment", metadata: { labels: { app: 1 } }, spec })).toEqual([
    "Deployment.metadata.labels is no { [key: string]: string; }",
    "Deployment.spec.replicas is no number",
    "Deployment.spec.template.spec.containers.0.livenesProbe is unknown",
  ]);
});

test("the pods get the config that all others start from", () => {
  expect(textOf("deploy/kubernetes/base/config.yaml")).toBe(textOf("deploy/config.yaml"));
});

test("both configs read the files that are mounted, and mean the databases that init makes", () => {
  const folder = "/run/secrets/groupsync";
  const postgres = loadDeployed(secretsAt(folder));
  expect(postgres.ledger).toMatchObject({ schema: "groupsync", tablePrefix: "ledger_" });
  const mysql = loadDeployed(secretsAt(folder, MYSQL_SECRETS), () => textOf("deploy/config.mysql.yaml"));
  expect(mysql.source.table).toBe("customers");
  expect(mysql.ledger).toMatchObject({ tablePrefix: "ledger_" });
  expect(mysql.tokens).toMatchObject([{ table: "groupsync_tokens.tokens" }]);
});

test.each(manifests.map((manifest) => [manifest.kind, manifest]))(
  "Kubernetes knows all of the %s",
  (_, one) => {
    expect(strangersIn(one)).toEqual([]);
  },
);

const PODS = [
  ["Deployment", ({ spec }: Manifest) => spec.template, undefined, "Always"],
  ["Job", ({ spec }: Manifest) => spec.template, ["sync", "--allow-partial", "--json"], "Never"],
  [
    "CronJob",
    ({ spec }: Manifest) => spec.jobTemplate.spec.template,
    ["sync", "--allow-partial", "--json"],
    "Never",
  ],
] as const;

describe.each(PODS)("the pod of the %s", (kind, templateOf, args, restartPolicy) => {
  const { metadata, spec: pod } = templateOf(ofKind(kind));
  const [container] = pod.containers;

  test("has few rights, and space in /tmp for a large plan", () => {
    expect(pod).toMatchObject({
      ...{ automountServiceAccountToken: false, enableServiceLinks: false },
      securityContext: {
        ...{ runAsNonRoot: true, runAsUser: uid, runAsGroup: gid },
        seccompProfile: { type: "RuntimeDefault" },
      },
    });
    expect(container.securityContext).toEqual({
      ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } },
    });
    expect(container.resources).toMatchObject({
      requests: { cpu: expect.any(String), memory: expect.stringMatching(/Mi$/) },
      limits: { memory: expect.stringMatching(/Mi$/) },
    });
    expect(volumeAt(pod, "/tmp").emptyDir).toBeDefined();
  });

  test("has its secrets in files that only its user can read, and none in its environment", () => {
    expect(container.env).toBeUndefined();
    const { secretName, defaultMode } = volumeAt(pod, "/run/secrets/groupsync").secret;
    expect(secretName).toBe("groupsync");
    // Root owns the files, and fsGroup sets their group.
    expect(defaultMode).toBe(0o440);
    expect(pod.securityContext.fsGroup).toBe(gid);
  });

  test("runs the right command with the config and secrets from the docs, and has time to end", () => {
    expect(container.args).toEqual(args);
    expect(container.command).toBeUndefined();
    expect(pod.restartPolicy ?? "Always").toBe(restartPolicy);
    expect(`${mountOf(pod, "config").mountPath}/config.yaml`).toBe(image.config);
    expect(volumeAt(pod, "/etc/groupsync").configMap).toEqual({ name: "groupsync" });
    const folder = mountOf(pod, "secrets").mountPath;
    const config = loadDeployed(secretsAt(folder));
    expect(pod.terminationGracePeriodSeconds * 1000).toBeGreaterThan(config.shutdown_timeout);
  });

  test("is selected by the NetworkPolicy", () => {
    expect(metadata.labels).toMatchObject(ofKind("NetworkPolicy").spec.podSelector.matchLabels);
  });
});

test("the Deployment has probes that leave its status page and POST /sync within reach while no sync ends well", () => {
  const [{ ports, livenessProbe, readinessProbe }] = ofKind("Deployment").spec.template.spec.containers;
  expect(ports).toEqual([{ name: "http", containerPort: port }]);
  expect(livenessProbe.httpGet).toEqual({ path: "/healthz", port: "http" });
  expect(readinessProbe.httpGet).toEqual({ path: "/healthz", port: "http" });
  const { template, selector } = ofKind("Deployment").spec;
  expect(template.metadata.labels).toMatchObject(selector.matchLabels);
  expect(ofKind("Service").spec).toMatchObject({
    selector: selector.matchLabels,
    ports: [{ targetPort: "http" }],
  });
});

test("the Deployment's comments show a volume for token files, and the config that it needs", () => {
  const text = textOf("deploy/kubernetes/daemon/deployment.yaml");
  const [, mount = ""] = /# - \{ name: tokens, mountPath: (\S+) \}/.exec(text) ?? [];
  const [, tokens = ""] = /# (tokens: .*)/.exec(text) ?? [];
  const [config] = loadDeployed(secretsAt("/run/secrets/groupsync"), (yaml) =>
    yaml.replace(/^tokens: .*$/m, tokens),
  ).tokens;
  expect(config).toMatchObject({ store: "file", shared_directory: true });
  // Use a folder of the volume: the volume's own root may hold a lost+found.
  expect(config).toHaveProperty("directory", `${mount}/tokens`);
});

test("the pods of Jobs are not selected by the Deployment or the Service", () => {
  const { matchLabels } = ofKind("Deployment").spec.selector;
  for (const [kind, templateOf] of PODS.slice(1)) {
    expect(templateOf(ofKind(kind)).metadata.labels).not.toMatchObject(matchLabels);
  }
});

test("the NetworkPolicy allows only monitoring in, to one port, and only named peers and ports out", () => {
  const { policyTypes, ingress, egress } = ofKind("NetworkPolicy").spec;
  expect(policyTypes).toEqual(["Ingress", "Egress"]);
  expect(ingress).toHaveLength(1);
  expect(ingress[0].ports).toEqual([{ protocol: "TCP", port }]);
  // A rule without `from` or `to` allows every peer, and a rule without `ports` every port.
  for (const { from, to, ports } of [...ingress, ...egress]) {
    expect((from ?? to).length).toBeGreaterThan(0);
    expect(ports.length).toBeGreaterThan(0);
  }
  const open = egress.flatMap((rule: Manifest) =>
    rule.ports.map(({ protocol, port }: Manifest) => `${protocol} ${port}`),
  );
  expect(open).toEqual(["UDP 53", "TCP 53", "TCP 5432", "TCP 443"]);
});

test("CronJobs never overlap, and failures that only an operator can repair are not retried", () => {
  expect(ofKind("CronJob").spec).toMatchObject({
    concurrencyPolicy: "Forbid",
    jobTemplate: { spec: { backoffLimit: 0 } },
  });
  expect(ofKind("Job").spec.podFailurePolicy.rules).toEqual([
    { action: "FailJob", onExitCodes: { operator: "In", values: [4, 64, 78] } },
  ]);
});

const mountOf = (pod: Manifest, volume: string): Manifest =>
  pod.containers[0].volumeMounts.find(({ name }: Manifest) => name === volume);

function volumeAt(pod: Manifest, path: string): Manifest {
  const mount = pod.containers[0].volumeMounts.find(({ mountPath }: Manifest) => mountPath === path);
  return pod.volumes.find(({ name }: Manifest) => name === mount.name);
}
