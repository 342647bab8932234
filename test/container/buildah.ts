import { execFile } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { installedProgram, unpackedPackage } from "../support/servers/debian-packages.ts";
import { npmFolder } from "./machine.ts";

/** Runs a command of buildah. Resolves to its stdout; rejects with all that it printed. */
export type Buildah = (command: string, ...args: readonly string[]) => Promise<string>;

const run = promisify(execFile);
/** The release of the image that the Dockerfile names. Its C library is no older than what this machine's Node.js needs. */
const RELEASE = "trixie";
/** What a Dockerfile's RUN and the image's entry point need. */
const SYSTEM = ["coreutils", "dash", "findutils", "grep", "libstdc++6", "sed", "util-linux"];
const PATIENCE = 1_200_000;

/** An installed buildah, or Debian's, with storage of its own below the folder. */
export async function aBuildah(folder: string): Promise<Buildah> {
  const [program = "", ...first] = await findBuildah(folder);
  const policy = join(folder, "policy.json");
  writeFileSync(policy, '{ "default": [{ "type": "insecureAcceptAnything" }] }');
  const storage = [
    "--root",
    join(folder, "storage"),
    "--runroot",
    join(folder, "run"),
    "--storage-driver",
    "vfs",
  ];
  return async (command, ...args) => {
    const trusting = ["bud", "from"].includes(command) ? ["--signature-policy", policy] : [];
    const isolated = ["bud", "run"].includes(command) ? ["--isolation", "chroot"] : [];
    const all = [...first, ...storage, command, ...trusting, ...isolated, ...args];
    try {
      return (await run(program, all, { maxBuffer: 2 ** 26, timeout: PATIENCE })).stdout;
    } catch (error) {
      const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
      throw new Error(`buildah ${command} failed: ${stderr || error}\n${stdout}`);
    }
  };
}

/** The beginning of its command line. */
async function findBuildah(folder: string): Promise<readonly string[]> {
  const installed = installedProgram("buildah");
  if (installed !== undefined) return [installed];
  const { root, env } = await unpackedPackage("buildah");
  // buildah starts itself anew without LD_LIBRARY_PATH, so the loader has to find its libraries by the loader's cache.
  const libraries = (env.LD_LIBRARY_PATH ?? "").replaceAll(delimiter, "\n");
  const config = join(folder, "ld.so.conf");
  const cache = join(folder, "ld.so.cache");
  writeFileSync(config, `include /etc/ld.so.conf\n${libraries}\n`);
  await run(installedProgram("ldconfig") ?? "/sbin/ldconfig", ["-X", "-f", config, "-C", cache]);
  const withCache = 'mount --bind "$0" /etc/ld.so.cache && exec "$@"';
  return ["unshare", "--mount", "sh", "-c", withCache, cache, join(root, "usr/bin/buildah")];
}

/**
 * Makes an image like Node.js's own: Debian's packages, unpacked, with this machine's Node.js and npm. `files` are copied
 * into it, by their paths in the image.
 */
export async function makeBaseImage(
  buildah: Buildah,
  folder: string,
  name: string,
  files: readonly { readonly source: string; readonly target: string }[],
): Promise<void> {
  const context = join(folder, "base-image");
  const root = join(context, "root");
  const { root: system } = await unpackedPackage("bash", { release: RELEASE, with: SYSTEM });
  cpSync(system, root, { recursive: true, verbatimSymlinks: true });
  const npm = "usr/local/lib/node_modules/npm";
  mkdirSync(join(root, "usr/local/bin"), { recursive: true });
  mkdirSync(join(root, "usr/local/etc"), { recursive: true });
  cpSync(npmFolder(), join(root, npm), { recursive: true, verbatimSymlinks: true });
  copyFileSync(process.execPath, join(root, "usr/local/bin/node"));
  symlinkSync(`/${npm}/bin/npm-cli.js`, join(root, "usr/local/bin/npm"));
  writeFileSync(join(root, "etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n");
  for (const { source, target } of files) {
    mkdirSync(dirname(join(root, target)), { recursive: true });
    copyFileSync(source, join(root, target));
  }
  const path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  writeFileSync(join(context, "Dockerfile"), `FROM scratch\nCOPY root /\nENV PATH=${path}\n`);
  await buildah("bud", "--tag", name, context);
  rmSync(context, { recursive: true });
}
