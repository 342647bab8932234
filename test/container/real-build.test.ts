import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { LONG } from "../support/long.ts";
import { aBuildah, makeBaseImage } from "./buildah.ts";
import { contextOf } from "./context.ts";
import { npmAccess } from "./npm-access.ts";
import { anOwnRegistry, OWN_CLIENT } from "./own-registry.ts";

const REPOSITORY = fileURLToPath(new URL("../../", import.meta.url)).replace(/\/$/, "");
/** Without root, buildah would need ranges of subordinate ids. */
const isRoot = process.getuid?.() === 0;
if (LONG && !isRoot) console.error("\n!!! The real build of the Dockerfile is SKIPPED: it needs root.\n");

test.runIf(LONG && isRoot)("buildah builds the Dockerfile, and the image runs", async ({ skip }) => {
  const folder = mkdtempSync(join(tmpdir(), "groupsync-real-build-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const buildah = await aBuildah(folder).catch((error: unknown) => {
    if (process.env.CI === "true") throw error;
    console.error(`\n!!! There is no buildah: the real build of the Dockerfile is SKIPPED.\n!!! ${error}\n`);
    return skip();
  });
  const registry = await anOwnRegistry(join(folder, "registry"));
  await makeBaseImage(buildah, folder, "localhost/node", registry.trusted);

  const context = join(folder, "context");
  for (const file of ["Dockerfile", ".dockerignore", ...contextOf(REPOSITORY)]) {
    mkdirSync(dirname(join(context, file)), { recursive: true });
    copyFileSync(join(REPOSITORY, file), join(context, file));
  }
  const args = { NODE_IMAGE: "localhost/node", STORE_CLIENTS: OWN_CLIENT, VERSION: "1.2.3" };
  await buildah(
    ...["bud", "--tag", "localhost/groupsync"],
    ...Object.entries(args).flatMap(([name, value]) => ["--build-arg", `${name}=${value}`]),
    ...npmAccess()
      .mounts.filter(({ writable }) => writable)
      .flatMap(({ source, target }) => ["--volume", `${source}:${target}`]),
    context,
  );

  const image = JSON.parse(await buildah("inspect", "--type", "image", "localhost/groupsync"));
  expect(image.OCIv1.config).toMatchObject({
    User: "10001:10001",
    WorkingDir: "/opt/groupsync",
    Entrypoint: ["prlimit", "--core=0", "groupsync"],
    Cmd: ["run"],
    StopSignal: "SIGTERM",
    Labels: { "org.opencontainers.image.version": "1.2.3" },
  });
  const container = (await buildah("from", "localhost/groupsync")).trim();
  const inside = (...command: string[]) => buildah("run", container, "--", ...command);
  expect(await inside("prlimit", "--core=0", "groupsync", "--version")).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect(await inside("id", "-u")).toBe("10001\n");
  expect(await inside("ls", "/opt/groupsync")).toBe("LICENSE\ndist\nnode_modules\npackage.json\n");
  expect(await inside("node", "-p", 'require("@own/client").of')).toBe("own registry\n");
  expect(registry.asked()).toEqual(["/@own/client", "/client.tgz"]);
});
