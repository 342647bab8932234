import { readdirSync, readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";
import type { Config } from "../../src/config/config.ts";
import { loadConfig } from "../../src/config/load.ts";
import { expand, parseDockerfile } from "../container/dockerfile.ts";

// biome-ignore lint/suspicious/noExplicitAny: what a manifest holds is what is asserted
export type Manifest = any;

const REPOSITORY = new URL("../../", import.meta.url);

export const textOf = (path: string): string => readFileSync(new URL(path, REPOSITORY), "utf8");

/** The documents of a file below deploy, in the version of YAML that Kubernetes and Compose read. */
export function documentsIn(name: string): Manifest[] {
  const documents = parseAllDocuments(textOf(`deploy/${name}`), { version: "1.1" });
  const problems = documents.flatMap(({ errors, warnings }) => [...errors, ...warnings]);
  if (problems.length > 0) throw new Error(`deploy/${name}: ${problems.join(", ")}`);
  return documents.map((document) => document.toJS());
}

/** Every manifest below deploy/kubernetes. A kustomization, a config and a patch are none. */
export const kubernetesFiles: readonly string[] = readdirSync(new URL("deploy/kubernetes", REPOSITORY), {
  recursive: true,
  encoding: "utf8",
})
  .filter((name) => /\.yaml$/.test(name) && !/(kustomization|config|patch)\.yaml$/.test(name))
  .map((name) => `kubernetes/${name}`);

const instructions = parseDockerfile(textOf("Dockerfile"));
const lastOf = (name: string): string => instructions.findLast((one) => one.name === name)?.text ?? "";
const environment = expand(lastOf("ENV"), new Map());

/** What the Dockerfile says about the image. */
export const image = {
  user: lastOf("USER"),
  port: /GROUPSYNC_HTTP_LISTEN=\S+:(\d+)/.exec(environment)?.[1] ?? "",
  config: /GROUPSYNC_CONFIG=(\S+)/.exec(environment)?.[1] ?? "",
  program: /ln -s \S+ (\S+)/.exec(instructions.map(({ text }) => text).join("\n"))?.[1] ?? "",
};

/**
 * Loads deploy/config.yaml with these files, by path, and an empty environment. `rewrite` makes a change from the docs.
 */
export function loadDeployed(
  files: Readonly<Record<string, string>>,
  rewrite: (text: string) => string = (text) => text,
): Config {
  return loadConfig(image.config, {
    env: {},
    readFile(path) {
      const content = path === image.config ? rewrite(textOf("deploy/config.yaml")) : files[path];
      if (content === undefined) throw new Error(`nothing is mounted at ${path}`);
      return content;
    },
  });
}

/** The files that the docs tell the operator to write, with their content. */
export const SECRETS = {
  "api-key": "k3y\n",
  "source-url": "postgres://groupsync_reader:pw@db.internal/shop?sslmode=require\n",
  "database-url": "postgres://groupsync:pw@db.internal/shop?sslmode=require\n",
};

export const MYSQL_SECRETS: typeof SECRETS = {
  "api-key": "k3y\n",
  "source-url":
    "mysql://groupsync_reader:pw@db.internal/shop?ssl-mode=REQUIRED&ssl-ca=/run/secrets/groupsync/ca.pem\n",
  "database-url":
    "mysql://groupsync:pw@db.internal/groupsync?ssl-mode=REQUIRED&ssl-ca=/run/secrets/groupsync/ca.pem\n",
};

export const secretsAt = (folder: string, secrets = SECRETS): Record<string, string> =>
  Object.fromEntries(Object.entries(secrets).map(([name, value]) => [`${folder}/${name}`, value]));
