import {
  chmodSync,
  copyFileSync,
  existsSync,
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
import { aWorld, until, type World } from "../e2e/world.ts";
import { freePort } from "../support/embedded-server.ts";
import { type ContainerOptions, runContainer, startContainer } from "./container.ts";
import { contextOf } from "./context.ts";
import { buildImage, type Image } from "./image.ts";
import { baseLinks, whyNoContainer } from "./machine.ts";
import { npmAccess } from "./npm-access.ts";

const REPOSITORY = fileURLToPath(new URL("../../", import.meta.url)).replace(/\/$/, "");
const manifest = JSON.parse(readFileSync(join(REPOSITORY, "package.json"), "utf8"));
const lock = JSON.parse(readFileSync(join(REPOSITORY, "package-lock.json"), "utf8"));

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
    image = await buildImage({
      ...{
        context: aContext(folder),
        folder,
        args: { VERSION: "1.2.3", SOURCE: "https://example.com/groupsync" },
      },
      ...npmAccess(),
    });
  }, 600_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("holds the program, the packages that it needs in production and its licence", () => {
    const path = "opt/groupsync";
    expect(filesBelow(image.root).filter((file) => !file.startsWith("opt/"))).toEqual([
      "usr/local/bin/groupsync",
    ]);
    expect(readdirSync(join(image.root, path)).toSorted()).toEqual([
      ...["LICENSE", "dist", "node_modules", "package.json"],
    ]);
    const packages = Object.entries<{ dev?: boolean; optional?: boolean }>(lock.packages).filter(
      ([at]) => at !== "",
    );
    const isThere = (at: string): boolean => existsSync(join(image.root, path, at));
    expect(packages.filter(([at, { dev }]) => dev && isThere(at))).toEqual([]);
    expect(packages.filter(([at, { dev, optional }]) => !dev && !optional && !isThere(at))).toEqual([]);
  });

  test("is built from the sources alone, and leaves nothing of what lay about beside them in any stage", () => {
    const taken = contextOf(join(folder, "context")).map((file) => file.split("/", 1)[0]);
    expect([...new Set(taken)]).toEqual([
      ...[
        ".npmrc",
        "LICENSE",
        "package-lock.json",
        "package.json",
        "src",
        "tsconfig.build.json",
        "tsconfig.json",
      ],
    ]);
    const stages = readdirSync(folder).filter((name) => name.startsWith("stage-"));
    expect(stages).toHaveLength(3);
    const found = stages.flatMap((stage) =>
      filesBelow(join(folder, stage)).filter((file) => PLANTED.test(file)),
    );
    expect(found).toEqual([]);
  });

  test("lets everybody read its files, and nobody but root write them", () => {
    const paths = ["opt", ...filesBelow(image.root)].filter((path) => !isLink(join(image.root, path)));
    const odd = paths.filter((path) => (lstatSync(join(image.root, path)).mode & 0o066) !== 0o044);
    expect(odd).toEqual([]);
    expect(paths.filter((path) => lstatSync(join(image.root, path)).uid !== process.getuid?.())).toEqual([]);
  });

  test("runs as a user with a number, on a root filesystem that is read-only but for /tmp", async () => {
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

  test("says what it is", async () => {
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

  test("`docker run IMAGE sync` is a backfill, of more groups than are kept in memory", async () => {
    const world = await aWorld({ tenants: 10_001 });
    const { code, stdout, stderr } = await runContainer(image, {
      args: ["sync", "--json"],
      ...theContainerOf(world),
    });
    expect(stderr).not.toContain('"level":"error"');
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, outcome: "ok", created: 10_001 });
    expect(await world.stored()).toEqual(await world.live());
  });

  test("`docker run IMAGE` is the daemon: healthy while it runs, with its secrets in files, until SIGTERM", async () => {
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

/** What lies about in a folder in which somebody works, and belongs into no image. */
const LYING_ABOUT = [
  ".env",
  "config.yaml",
  "id_ed25519",
  "groupsync.log",
  "dist/planted.js",
  "node_modules/planted/x.js",
];
const PLANTED = /(^|\/)(\.env|config\.yaml|id_ed25519|groupsync\.log|planted(\.js|\/.*))$/;

/** A copy of the repository, as one that was checked out under a strict umask and then used. */
function aContext(folder: string): string {
  const context = join(folder, "context");
  for (const file of ["Dockerfile", ".dockerignore", ...contextOf(REPOSITORY)]) {
    mkdirSync(dirname(join(context, file)), { recursive: true });
    copyFileSync(join(REPOSITORY, file), join(context, file));
    chmodSync(join(context, file), 0o600);
  }
  for (const file of LYING_ABOUT) {
    mkdirSync(dirname(join(context, file)), { recursive: true });
    writeFileSync(join(context, file), "planted");
  }
  return context;
}

/** Where the machine lends something to a container, an empty file or folder is left in its root filesystem. */
function filesBelow(root: string): string[] {
  const base = new Set(baseLinks().map(([path]) => path.slice(1)));
  return readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((path) => !base.has(path))
    .filter((path) => isLink(join(root, path)) || lstatSync(join(root, path)).size > 0)
    .filter((path) => !lstatSync(join(root, path)).isDirectory())
    .toSorted();
}

const isLink = (path: string): boolean => lstatSync(path).isSymbolicLink();

/** What the config says for what is in a file. */
const fromFile = (path: string): string => `\${file:${path}}`;

function theContainerOf(world: World): Required<Pick<ContainerOptions, "env" | "mounts">> {
  chmodSync(world.configFile, 0o644);
  const { GROUPSYNC_CONFIG: _, ...env } = world.env;
  return { env, mounts: [{ source: world.configFile, target: "/etc/groupsync/config.yaml" }] };
}
