import { writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { findKubectl } from "../support/servers/debian-program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { type Manifest, textOf } from "./files.ts";
import { strangersIn } from "./kubernetes-schema.ts";

const kubectl = await findKubectl();
const KUBERNETES = fileURLToPath(new URL("../../deploy/kubernetes", import.meta.url));

/** What each overlay has, beside what all of them have. */
const OVERLAYS = {
  daemon: ["Deployment", "Service"],
  cronjob: ["CronJob"],
  backfill: ["Job"],
  standby: ["Deployment", "PodDisruptionBudget", "Service"],
} as const;
const SHARED = ["ConfigMap", "NetworkPolicy"];

async function rendered(folder: string): Promise<Manifest[]> {
  const { code, output } = await kubectl!(["kustomize", folder]);
  expect(code, output).toBe(0);
  // A warning of kubectl is no manifest.
  return parseAllDocuments(output, { version: "1.1" }).map((document) => document.toJS());
}

const ofKind = (manifests: readonly Manifest[], kind: string): Manifest =>
  manifests.find((manifest) => manifest.kind === kind);

function podOf(manifests: readonly Manifest[]): Manifest {
  const { spec } = manifests.find(({ kind }) => ["Deployment", "CronJob", "Job"].includes(kind));
  return (spec.jobTemplate?.spec ?? spec).template.spec;
}

describe.skipIf(kubectl === null)("kubectl", () => {
  test.each(Object.entries(OVERLAYS))("renders %s as Kubernetes knows it", async (overlay, own) => {
    const manifests = await rendered(join(KUBERNETES, overlay));
    expect(manifests.map(({ kind }) => kind).sort()).toEqual([...SHARED, ...own].sort());
    expect(manifests.flatMap(strangersIn)).toEqual([]);

    const config = ofKind(manifests, "ConfigMap");
    expect(config.data).toEqual({ "config.yaml": textOf("deploy/config.yaml") });
    const { containers, volumes } = podOf(manifests);
    expect(volumes.map(({ configMap }: Manifest) => configMap?.name)).toContain(config.metadata.name);
    // The name that the kustomization in the docs replaces.
    expect(containers[0].image).toBe("groupsync");
  });

  test("has a second pod stand by, which a drain of nodes leaves alone while the first one moves", async () => {
    const manifests = await rendered(join(KUBERNETES, "standby"));
    const { replicas, selector } = ofKind(manifests, "Deployment").spec;
    const budget = ofKind(manifests, "PodDisruptionBudget").spec;
    expect(replicas).toBe(2);
    expect(budget.selector).toEqual(selector);
    // As many as may go: one, and never none, which would hold up the drain.
    expect(budget.maxUnavailable).toBe(1);
    const [spread] = podOf(manifests).topologySpreadConstraints;
    expect(spread.labelSelector).toEqual(selector);
  });

  test("takes an overlay like the one in the docs", async () => {
    const folder = temporaryFolder();
    const [, indented = ""] =
      /^ {3}```yaml\n( {3}# kustomization\.yaml\n[^`]*)^ {3}```/m.exec(textOf("docs/deploy.md")) ?? [];
    const yaml = indented.replace(/^ {3}/gm, "");
    const [, documented = ""] = /resources: \[(\S+)\/daemon\]/.exec(yaml) ?? [];
    writeFileSync(join(folder, "kustomization.yaml"), yaml.replace(documented, relative(folder, KUBERNETES)));
    writeFileSync(join(folder, "config.yaml"), "name: mine\n");

    const manifests = await rendered(folder);
    expect(ofKind(manifests, "ConfigMap").data).toEqual({ "config.yaml": "name: mine\n" });
    expect(podOf(manifests).containers[0].image).toBe("registry.internal/groupsync@sha256:…");
    const { egress } = ofKind(manifests, "NetworkPolicy").spec;
    expect(JSON.stringify(egress)).toContain("10.20.0.0/16");
    expect(manifests.flatMap(strangersIn)).toEqual([]);
  });
});
