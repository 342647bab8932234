import { execFile } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { blocksIn, sectionText } from "../support/pages.ts";
import { findKubectl } from "../support/servers/debian-program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { type Manifest, SECRETS, textOf } from "./files.ts";
import { strangersIn } from "./kubernetes-schema.ts";

const kubectl = await findKubectl();
const PAGE = "docs/deploy.md";
const KUBERNETES = fileURLToPath(new URL("../../deploy/kubernetes", import.meta.url));

/** What each overlay has, beside what all of them have. */
const OVERLAYS = {
  daemon: ["Deployment", "Service"],
  cronjob: ["CronJob"],
  check: ["Job"],
  probe: ["Job"],
  plan: ["Job"],
  backfill: ["Job"],
  standby: ["Deployment", "PodDisruptionBudget", "Service"],
} as const;
const SHARED = ["ConfigMap", "NetworkPolicy"];

async function rendered(folder: string): Promise<Manifest[]> {
  const { stdout } = await promisify(execFile)(kubectl ?? "", ["kustomize", folder]);
  // A warning of kubectl is no manifest.
  return parseAllDocuments(stdout, { version: "1.1" }).map((document) => document.toJS());
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

  test("takes an overlay like the one in the docs, with one more way out", async () => {
    const folder = aFolder();
    copyFileSync(join(KUBERNETES, "base/egress-patch.yaml"), join(folder, "egress-patch.yaml"));
    const path = join(folder, "kustomization.yaml");
    writeFileSync(path, readFileSync(path, "utf8").replace(/# (- .*egress-patch\.yaml)/, "$1"));

    const manifests = await rendered(folder);
    expect(ofKind(manifests, "ConfigMap").data).toEqual({ "config.yaml": "name: mine\n" });
    expect(podOf(manifests).containers[0].image).toBe("registry.internal/groupsync@sha256:…");
    const { egress } = ofKind(manifests, "NetworkPolicy").spec;
    expect(JSON.stringify(egress[1])).toContain("10.20.0.0/16");
    expect(egress.at(-1)).toEqual({
      to: [{ ipBlock: { cidr: "10.30.0.5/32" } }],
      ports: [{ protocol: "TCP", port: 8200 }],
    });
    expect(manifests.flatMap(strangersIn)).toEqual([]);
  });

  test.each(["Complete", "Failed"])(
    "runs one Job after the other by the commands in the docs, and its wait ends if a Job is %s",
    async (condition) => {
      const folder = aFolder();
      const cluster = await aCluster(condition);
      onTestFinished(cluster.stop);
      // What needs a whole cluster is written down, and rendered by the real program.
      const stub = `#!/bin/sh
case $1 in
  apply) "${kubectl}" kustomize . >"applied-$(ls applied-* 2>/dev/null | wc -l)" ;;
  create) exec "${kubectl}" "$@" --dry-run=client --output json ;;
  delete | logs) echo "kubectl $*" ;;
  *) exec "${kubectl}" --server "${cluster.url}" "$@" ;;
esac
`;
      writeFileSync(join(folder, "kubectl"), stub, { mode: 0o755 });
      const [secret = "", commands = "", daemon = ""] = blocksIn(sectionText(PAGE, "Kubernetes"), "sh");
      const env = { PATH: `${folder}:${process.env.PATH}`, HOME: folder };
      const sh = (text: string) => promisify(execFile)("sh", ["-ec", text], { cwd: folder, env });
      mkdirSync(join(folder, "secrets"));
      for (const [name, content] of Object.entries(SECRETS))
        writeFileSync(join(folder, "secrets", name), content);
      const { data, metadata } = JSON.parse((await sh(secret)).stdout);
      expect({ name: metadata.name, files: Object.keys(data).sort() }).toEqual({
        name: "groupsync",
        files: Object.keys(SECRETS).sort(),
      });
      const { stdout } = await sh(commands);
      expect(stdout.match(/^\w+$/gm)).toEqual(Array(4).fill(condition));
      await sh(daemon);

      const applied = readdirSync(folder).filter((name) => name.startsWith("applied-"));
      const names = applied.sort().map((name) => {
        const documents = parseAllDocuments(readFileSync(join(folder, name), "utf8"));
        const manifests: Manifest[] = documents.map((document) => document.toJS());
        return manifests.find(({ kind }) => kind === "Job" || kind === "Deployment")?.metadata.name;
      });
      const waited = ["check", "probe", "plan", "backfill"].map((name) => `groupsync-${name}`);
      expect(names).toEqual([...waited, "groupsync"]);
      expect([...new Set(cluster.asked())]).toEqual(waited);
    },
  );
});

/** A folder with the kustomization in the docs and a config, and with the checkout beside them. */
function aFolder(): string {
  const folder = temporaryFolder();
  const [yaml = ""] = blocksIn(sectionText(PAGE, "Kubernetes"), "yaml");
  writeFileSync(join(folder, "kustomization.yaml"), yaml.replace(/^ {3}/gm, ""));
  writeFileSync(join(folder, "config.yaml"), "name: mine\n");
  cpSync(KUBERNETES, join(folder, "groupsync/deploy/kubernetes"), { recursive: true });
  return folder;
}

/** As much of a cluster's API as `kubectl wait` and `kubectl get` ask: every Job gets this condition after a moment. */
async function aCluster(condition: string) {
  const asked: string[] = [];
  const seen = new Set<string>();
  const batch = { groupVersion: "batch/v1", version: "v1" };
  const server = createServer(({ url = "" }, response) => {
    const { pathname, searchParams } = new URL(url, "http://cluster");
    const name =
      /jobs\/(.+)/.exec(pathname)?.[1] ??
      searchParams.get("fieldSelector")?.replace("metadata.name=", "") ??
      "";
    const job = (status: object) => ({
      ...{
        apiVersion: "batch/v1",
        kind: "Job",
        metadata: { name, namespace: "default", resourceVersion: "1" },
      },
      status,
    });
    const ended = job({ conditions: [{ type: condition, status: "True" }] });
    const state = seen.has(name) ? ended : job({ active: 1 });
    const answers: Readonly<Record<string, object>> = {
      "/api": { kind: "APIVersions", versions: ["v1"] },
      "/api/v1": { kind: "APIResourceList", groupVersion: "v1", resources: [] },
      "/apis": {
        ...{ kind: "APIGroupList", apiVersion: "v1" },
        groups: [{ name: "batch", versions: [batch], preferredVersion: batch }],
      },
      "/apis/batch/v1": {
        ...{ kind: "APIResourceList", groupVersion: "batch/v1" },
        resources: [
          {
            name: "jobs",
            singularName: "job",
            namespaced: true,
            kind: "Job",
            verbs: ["get", "list", "watch"],
          },
        ],
      },
      "/apis/batch/v1/namespaces/default/jobs": {
        ...{ kind: "JobList", apiVersion: "batch/v1", metadata: { resourceVersion: "1" }, items: [state] },
      },
    };
    response.setHeader("content-type", "application/json");
    if (searchParams.has("watch")) {
      asked.push(name);
      setTimeout(() => {
        seen.add(name);
        response.end(`${JSON.stringify({ type: "MODIFIED", object: ended })}\n`);
      }, 200);
    } else response.end(JSON.stringify(answers[pathname] ?? state));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked: () => asked,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
