import {
  chmodSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PACKAGES_APART } from "../../build/load-bundle.ts";
import { OPTIONAL_PACKAGES } from "../../src/adapters/token-stores/vendor-client.ts";
import { aWorld, until, type World } from "../e2e/world.ts";
import { LONG } from "../support/long.ts";
import { freePort } from "../support/servers/embedded-server.ts";
import { type ContainerOptions, runContainer, startContainer } from "./container.ts";
import { contextOf } from "./context.ts";
import { buildImage, type Image } from "./image.ts";
import { imagePage } from "./image-page.ts";
import { baseLinks, type Mount, whyNoContainer } from "./machine.ts";
import { type NpmAccess, npmAccess } from "./npm-access.ts";
import { anOwnRegistry, OWN_CLIENT } from "./own-registry.ts";

const REPOSITORY = fileURLToPath(new URL("../../", import.meta.url)).replace(/\/$/, "");
const manifest = JSON.parse(readFileSync(join(REPOSITORY, "package.json"), "utf8"));

const missing = whyNoContainer();
if (missing !== undefined) {
  console.error(
    [
      "\n!!! No container can be had on this machine: the tests of the Dockerfile are SKIPPED.",
      "!!! They need `unshare` to be allowed mount and process namespaces, as root or in a user namespace.",
      `!!! ${missing}\n`,
    ].join("\n"),
  );
}

describe.skipIf(missing !== undefined)("the Dockerfile, on this machine's Node.js and base system", () => {
  let folder: string;
  let image: Image;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "groupsync-container-"));
    const args = { VERSION: "1.2.3", SOURCE: "https://example.com/groupsync" };
    const access = LONG ? npmAccess() : OWN_PACKAGES;
    image = await buildImage({ context: aContext(folder), folder, args, ...access });
  }, 600_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("holds the program with its packages and their licences, and nothing else", () => {
    const path = "opt/groupsync";
    expect(filesBelow(image.root).filter((file) => !file.startsWith("opt/"))).toEqual([
      "usr/local/bin/groupsync",
    ]);
    const filesOf = (folder: string) => readdirSync(join(image.root, folder)).toSorted();
    expect(filesOf(path)).toEqual(["LICENSE", "dist", "package.json"]);
    // Otherwise npm would install all packages beside a vendor's client.
    const { name, version, dependencies, devDependencies } = JSON.parse(
      readFileSync(join(image.root, path, "package.json"), "utf8"),
    );
    expect([name, version]).toEqual(["groupsync", manifest.version]);
    expect(dependencies ?? devDependencies).toBeUndefined();
    const apart = PACKAGES_APART.flatMap((name) => [`${name}.cjs`, `${name}.compiled`]);
    const own = ["cli.js", "groupsync.cjs", "groupsync.compiled", "main.js", "package.json"];
    expect(filesOf(`${path}/dist`)).toEqual(["THIRD-PARTY-NOTICES.txt", ...own, ...apart].toSorted());
  });

  test("is built from the sources alone: no stage has other files of the working copy", () => {
    const taken = contextOf(join(folder, "context")).map((file) => file.split("/", 1)[0]);
    expect([...new Set(taken)]).toEqual([
      ...[".npmrc", "LICENSE", "build", "package-lock.json", "package.json", "src", "tsconfig.json"],
    ]);
    const stages = readdirSync(folder).filter((name) => name.startsWith("stage-"));
    expect(stages).toHaveLength(2);
    const found = stages.flatMap((stage) =>
      filesBelow(join(folder, stage)).filter((file) => PLANTED.test(file)),
    );
    expect(found).toEqual([]);
  });

  test("has files that everybody can read and only root can write", () => {
    const paths = ["opt", ...filesBelow(image.root)].filter((path) => !isLink(join(image.root, path)));
    const odd = paths.filter((path) => (lstatSync(join(image.root, path)).mode & 0o066) !== 0o044);
    expect(odd).toEqual([]);
    expect(paths.filter((path) => lstatSync(join(image.root, path)).uid !== process.getuid?.())).toEqual([]);
  });

  test("runs as a numeric user, with a root filesystem that is read-only except for /tmp", async () => {
    const script = `
      const { writeFileSync } = require("node:fs");
      const tried = (path) => { try { writeFileSync(path, ""); return "written"; } catch ({ code }) { return code; } };
      console.log(JSON.stringify({
        pid: process.pid, uid: process.getuid(), gid: process.getgid(),
        tried: ["/x", "/etc/x", "/usr/local/bin/x", "/opt/groupsync/dist/main.js", "/tmp/x"].map(tried),
      }));`;
    const { stdout, stderr } = await runContainer(image, { command: ["node", "-e", script] });
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual({
      ...{ pid: 1, uid: 10001, gid: 10001 },
      tried: ["EROFS", "EROFS", "EROFS", "EROFS", "written"],
    });
  });

  test("writes no core dump, which would hold its secrets", async () => {
    const command = [...image.entrypoint.slice(0, -1), "cat", "/proc/self/limits"];
    const { stdout } = await runContainer(image, { command });
    expect(stdout).toMatch(/^Max core file size +0 +0 /m);
  });

  test("has labels that describe it", async () => {
    expect(image.base).toMatch(/^node:\d+-\w+-slim$/);
    expect(image.labels).toMatchObject({
      "org.opencontainers.image.title": "groupsync",
      "org.opencontainers.image.description": manifest.description,
      "org.opencontainers.image.licenses": manifest.license,
      "org.opencontainers.image.version": "1.2.3",
      "org.opencontainers.image.source": "https://example.com/groupsync",
    });
    expect(await runContainer(image, { args: ["--version"] })).toEqual({
      ...{ code: 0, signal: null, stdout: `${manifest.version}\n`, stderr: "" },
    });
  });

  test.runIf(LONG)(
    "an image derived from it as docs/deploy.md says has a vendor's client, with npm set up by the base image",
    async () => {
      const registry = await anOwnRegistry(join(folder, "registry"));
      const context = join(folder, "derived");
      writeContext(context, imagePage.derived.replace(AWS_CLIENT, `$& ${OWN_CLIENT}`));
      const withClients = await buildImage({
        ...{ context, folder: join(folder, "derived-stages"), images: { groupsync: image } },
        ...withNpmrcOfBase(registry.trusted),
      });
      expect(withClients).toMatchObject({ user: image.user, entrypoint: image.entrypoint });
      expect(await clientsIn(withClients)).toEqual(["SecretsManagerClient", "own registry"]);
      expect(registry.asked()).toEqual(["/@own/client", "/client.tgz"]);
    },
  );

  test.runIf(LONG)(
    "STORE_CLIENTS puts vendors' clients into it, behind a proxy's certificates too",
    async () => {
      const registry = await anOwnRegistry(join(folder, "registry-of-build"));
      const context = join(folder, "base");
      writeContext(context, imagePage.behindProxy);
      copyFileSync(registry.certificates, join(context, "ca.pem"));
      const access = withNpmrcOfBase(registry.untrusted);
      const behindProxy = await buildImage({ context, folder: join(folder, "base-stages"), ...access });
      const withClients = await buildImage({
        ...{ context: join(folder, "context"), folder: join(folder, "stages-with-clients") },
        images: { "node-behind-proxy": behindProxy },
        args: { NODE_IMAGE: "node-behind-proxy", STORE_CLIENTS: `${AWS_CLIENT} ${OWN_CLIENT}` },
        ...access,
      });
      expect(await clientsIn(withClients)).toEqual(["SecretsManagerClient", "own registry"]);
      expect(registry.asked()).toEqual(["/@own/client", "/client.tgz"]);
      // What package-lock.json names, and none of the packages that groupsync is developed with.
      const found = packagesIn(join(withClients.root, "opt/groupsync/node_modules/.package-lock.json"));
      const locked = packagesIn(join(REPOSITORY, "package-lock.json"));
      const { "node_modules/@own/client": _, ...others } = found;
      expect(others).toEqual(Object.fromEntries(Object.keys(others).map((path) => [path, locked[path]])));
      expect(Object.keys(others)).not.toContain("node_modules/vitest");
    },
  );

  test.runIf(LONG)("`docker run IMAGE plan` holds more changes than fit into the memory buffer", async () => {
    const world = await aWorld({ tenants: 10_001 });
    const { code, stdout, stderr } = await runContainer(image, {
      args: ["plan", "--json"],
      ...theContainerOf(world),
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout).create).toHaveLength(10_001);
  });

  test("`docker run IMAGE` is the daemon: with secrets in files, healthy while it runs, and ended by SIGTERM", async () => {
    const world = await aWorld({ config: { service: { api_key: fromFile("/run/secrets/api-key") } } });
    const secret = join(world.folder, "api-key");
    writeFileSync(secret, world.sandbox.apiKey);
    chmodSync(secret, 0o644);
    const { env, mounts } = theContainerOf(world);
    const { GROUPSYNC_API_KEY: _, ...withoutKey } = env;
    const options = {
      env: { ...withoutKey, GROUPSYNC_HTTP_LISTEN: `127.0.0.1:${await freePort()}` },
      mounts: [...mounts, { source: secret, target: "/run/secrets/api-key" }],
    };
    const check = async () => (await runContainer(image, { ...options, command: image.healthcheck })).code;
    expect(await check()).toBe(1);

    const daemon = startContainer(image, options);
    await until(async () => (await check()) === 0 || daemon.child.exitCode !== null);
    await until(async () => Object.keys(await world.live()).length === 5 || daemon.child.exitCode !== null);
    const { code, stderr } = await daemon.stop(image.stopSignal as NodeJS.Signals);
    expect({ code, errors: stderr.match(/.*"level":"(error|fatal)".*/g) }).toEqual({ code: 0, errors: null });
    expect(await world.stored()).toEqual(await world.live());
    expect(await check()).toBe(1);
  });
});

const [AWS_CLIENT] = OPTIONAL_PACKAGES.aws_secrets_manager;

function writeContext(folder: string, dockerfile: string): void {
  mkdirSync(folder);
  writeFileSync(join(folder, "Dockerfile"), dockerfile);
  writeFileSync(join(folder, ".dockerignore"), "Dockerfile\n");
}

/** The npmrc comes from the base image, and from nowhere else. */
function withNpmrcOfBase(mounts: readonly Mount[]): NpmAccess {
  const access = npmAccess();
  const others = access.mounts.filter(({ target }) => target !== "/root/.npmrc");
  return { ...access, mounts: [...others, ...mounts] };
}

/** What groupsync finds if it imports the clients: the name of one export of each. */
async function clientsIn(image: Image): Promise<unknown> {
  const script = `
    const { SecretsManagerClient } = await import("@aws-sdk/client-secrets-manager");
    console.log(JSON.stringify([SecretsManagerClient.name, (await import("@own/client")).default.of]));`;
  const command = ["node", "--input-type=module", "-e", script];
  const { stdout, stderr } = await runContainer(image, { command });
  return stdout === "" ? stderr : JSON.parse(stdout);
}

function packagesIn(lockfile: string): Record<string, string> {
  const { packages } = JSON.parse(readFileSync(lockfile, "utf8"));
  return Object.fromEntries(
    Object.entries<{ version: string }>(packages).map(([path, { version }]) => [path, version]),
  );
}

/** Files that a working copy may hold, and that must not get into the image. */
const LYING_ABOUT = [
  ".env",
  "config.yaml",
  "id_ed25519",
  "groupsync.log",
  "dist/planted.js",
  "node_modules/planted/x.js",
];
const PLANTED = /(^|\/)(\.env|config\.yaml|id_ed25519|groupsync\.log|planted(\.js|\/.*))$/;

const INSTALLS = "RUN npm ci --ignore-scripts\n";

/** In place of what `npm ci` installs: the working copy's packages, which the programs in /build find above it. */
const OWN_PACKAGES: NpmAccess = {
  mounts: [{ source: join(REPOSITORY, "node_modules"), target: "/node_modules" }],
  env: { npm_config_update_notifier: "false" },
};

/**
 * A copy of the repository that looks checked out under a strict umask, and worked in. Only in a long run does its
 * Dockerfile install packages, which takes longer than everything else in it.
 */
function aContext(folder: string): string {
  const context = join(folder, "context");
  for (const file of ["Dockerfile", ".dockerignore", ...contextOf(REPOSITORY)]) {
    mkdirSync(dirname(join(context, file)), { recursive: true });
    copyFileSync(join(REPOSITORY, file), join(context, file));
    chmodSync(join(context, file), 0o600);
  }
  if (!LONG) {
    const dockerfile = readFileSync(join(context, "Dockerfile"), "utf8");
    expect(dockerfile).toContain(INSTALLS);
    writeFileSync(join(context, "Dockerfile"), dockerfile.replace(INSTALLS, "RUN mkdir node_modules\n"));
  }
  for (const file of LYING_ABOUT) {
    mkdirSync(dirname(join(context, file)), { recursive: true });
    writeFileSync(join(context, file), "planted");
  }
  return context;
}

/** The image's own files, without the empty files and folders that mounts leave in its root filesystem. */
function filesBelow(root: string): string[] {
  const base = new Set(baseLinks().map(([path]) => path.slice(1)));
  return readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((path) => !base.has(path))
    .filter((path) => isLink(join(root, path)) || lstatSync(join(root, path)).size > 0)
    .filter((path) => !lstatSync(join(root, path)).isDirectory())
    .toSorted();
}

const isLink = (path: string): boolean => lstatSync(path).isSymbolicLink();

/** The config's reference to a file's content. */
const fromFile = (path: string): string => `\${file:${path}}`;

function theContainerOf(world: World): Required<Pick<ContainerOptions, "env" | "mounts">> {
  chmodSync(world.configFile, 0o644);
  const { GROUPSYNC_CONFIG: _, ...env } = world.env;
  return { env, mounts: [{ source: world.configFile, target: "/etc/groupsync/config.yaml" }] };
}
