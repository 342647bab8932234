import { execFile, execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** A file or folder of this machine, and its path in a container. */
export interface Mount {
  readonly source: string;
  readonly target: string;
  /** Read-only unless told otherwise. */
  readonly writable?: boolean;
}

/** A command in its own root filesystem. */
interface InRoot {
  /** The folder that the command sees as `/`. `mounts` are mounted into it. */
  readonly root: string;
  readonly readOnly: boolean;
  readonly workdir: string;
  /** User and group as numbers, such as `10001:10001`. Default: root. */
  readonly user?: string;
  readonly env: Readonly<Record<string, string>>;
  readonly mounts?: readonly Mount[];
  readonly command: readonly string[];
}

const SCRIPT = fileURLToPath(new URL("in-root.sh", import.meta.url));
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** The command line on this machine that runs a command as PID 1 in its own root filesystem. */
export function inRoot({ root, readOnly, workdir, user, env, mounts = [], command }: InRoot): string[] {
  const namespaces = ["--mount", "--pid", "--fork", "--kill-child"];
  if (process.getuid?.() !== 0) namespaces.push("--user", "--map-root-user");
  return [
    "unshare",
    ...namespaces,
    ...[SCRIPT, root, readOnly ? "ro" : "rw", workdir, user ?? ""],
    ...[...base(), ...mounts].map(
      ({ source, target, writable }) => `${source}:${target}:${writable ? "rw" : "ro"}`,
    ),
    ...["--", "env", "-i", `PATH=${PATH}`, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)],
    ...command,
  ];
}

/** Runs the command to its end. Rejects with its output if it fails. */
export async function runInRoot(run: InRoot): Promise<void> {
  const [file = "", ...args] = inRoot(run);
  try {
    await promisify(execFile)(file, args, { maxBuffer: 64 * 1024 * 1024 });
  } catch (error) {
    // Don't show the whole command line: it has the environment, and proxy settings may hold passwords.
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(`${run.command.join(" ")} failed:\n${stdout}${stderr}`);
  }
}

/** Why no container can run on this machine; undefined if one can. */
export function whyNoContainer(): string | undefined {
  const root = mkdtempSync(join(tmpdir(), "groupsync-container-probe-"));
  try {
    layBase(root);
    const [file = "", ...args] = inRoot({
      ...{ root, readOnly: true, workdir: "/", user: "10001:10001", env: {} },
      command: ["node", "--version"],
    });
    execFileSync(file, args, { stdio: ["ignore", "ignore", "pipe"] });
    return undefined;
  } catch (error) {
    return String((error as { stderr?: Buffer }).stderr ?? error).trim();
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** Mounts in place of the base image: this machine's Debian, Node.js and npm, at their paths in the Node.js image. */
function base(): Mount[] {
  const same = (path: string): Mount => ({ source: path, target: path });
  const system = readdirSync("/usr")
    .filter((name) => name !== "local")
    .map((name) => join("/usr", name));
  const etc = [
    "alternatives",
    "group",
    "hosts",
    "ld.so.cache",
    "nsswitch.conf",
    "passwd",
    "resolv.conf",
    "ssl",
  ];
  return [
    ...[...system, ...TOP_FOLDERS.filter((path) => !isLink(path)), ...etc.map((name) => `/etc/${name}`)]
      .filter(existsSync)
      .map((path) => ({ ...same(path), source: realpathSync(path) })),
    { source: process.execPath, target: "/usr/local/bin/node" },
    { source: npmFolder(), target: "/usr/local/lib/node_modules/npm" },
  ];
}

const TOP_FOLDERS = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
const isLink = (path: string): boolean => existsSync(path) && lstatSync(path).isSymbolicLink();

/** Makes the folders and links of a base image in this folder. The rest of the base image is mounted into them. */
export function layBase(root: string): void {
  for (const path of ["/", "/tmp", "/etc", "/usr", "/usr/local", "/usr/local/bin", "/usr/local/lib"]) {
    mkdirSync(root + path, { recursive: true });
    // Set the mode again: the umask of the tests may have restricted it.
    chmodSync(root + path, 0o755);
  }
  for (const [path, target] of baseLinks()) symlinkSync(target, root + path);
}

/** The links of the base image, by their paths in the root filesystem. */
export const baseLinks = (): [path: string, target: string][] => [
  ...TOP_FOLDERS.filter(isLink).map((path): [string, string] => [path, readlinkSync(path)]),
  ["/usr/local/bin/npm", "../lib/node_modules/npm/bin/npm-cli.js"],
];

function npmFolder(): string {
  const npm = (process.env.PATH ?? "")
    .split(delimiter)
    .map((folder) => join(folder, "npm"))
    .find(existsSync);
  if (npm === undefined) throw new Error("there is no npm in the PATH");
  return dirname(dirname(realpathSync(npm)));
}
