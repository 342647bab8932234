import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { promisify } from "node:util";
import { aCertificateAuthority } from "../support/servers/certificates.ts";
import { listening } from "../support/servers/listening.ts";
import type { Mount } from "./machine.ts";
import { trustedFiles } from "./npm-access.ts";

/** The only package of the registry. */
export const OWN_CLIENT = "@own/client@1.0.0";

export interface OwnRegistry {
  /** All certificates that npm has to trust. */
  readonly certificates: string;
  /** An npmrc for the base image, and the certificates that it names. */
  readonly trusted: readonly Mount[];
  /** An npmrc that names no certificates. */
  readonly untrusted: readonly Mount[];
  /** The paths that npm has asked for, each once. */
  asked(): string[];
}

/**
 * A registry for the packages of `@own`, with a certificate that only the npmrc of the base image leads to: as behind a
 * proxy with a certificate authority of its own. All other packages come from where they always come from.
 */
export async function anOwnRegistry(folder: string): Promise<OwnRegistry> {
  mkdirSync(folder);
  const archive = await pack(folder);
  const authority = await aCertificateAuthority("own registry");
  const asked = new Set<string>();
  const server = createServer(await authority.issue(["localhost", "127.0.0.1"]), (request, response) => {
    const path = decodeURIComponent(request.url ?? "");
    asked.add(path);
    if (path === "/@own/client") {
      const dist = { tarball: `https://127.0.0.1:${port}/client.tgz` };
      const version = { name: "@own/client", version: "1.0.0", dist };
      const latest = { "dist-tags": { latest: "1.0.0" }, versions: { "1.0.0": version } };
      response.setHeader("content-type", "application/json").end(JSON.stringify({ ...version, ...latest }));
    } else if (path === "/client.tgz") {
      response.end(archive);
    } else {
      response.writeHead(404).end();
    }
  });
  const { port } = await listening(server);

  const certificates = join(folder, "ca.pem");
  const trusted = trustedFiles().map((path) => readFileSync(path, "utf8"));
  writeFileSync(certificates, [...rootCertificates, ...trusted, authority.cert].join("\n"));
  const npmrc = (name: string, lines: string): Mount => {
    const source = join(folder, name);
    writeFileSync(source, `${lines}@own:registry=https://127.0.0.1:${port}/\n`);
    return { source, target: "/usr/local/etc/npmrc" };
  };
  return {
    certificates,
    trusted: [
      { source: certificates, target: "/etc/own-ca.pem" },
      npmrc("trusting", "cafile=/etc/own-ca.pem\n"),
    ],
    untrusted: [npmrc("not-trusting", "")],
    asked: () => [...asked],
  };
}

async function pack(folder: string): Promise<Buffer> {
  const client = join(folder, "package");
  mkdirSync(client);
  writeFileSync(join(client, "package.json"), '{ "name": "@own/client", "version": "1.0.0" }');
  writeFileSync(join(client, "index.js"), 'exports.of = "own registry";\n');
  const file = join(folder, "client.tgz");
  await promisify(execFile)("tar", ["-czf", file, "-C", folder, "package"]);
  return readFileSync(file);
}
