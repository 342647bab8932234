import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, readdir, readFile, rm } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { INSTALL, OPTIONAL_PACKAGES } from "../../src/adapters/token-stores/vendor-client.ts";
import { MAIN, startProcess } from "../e2e/program.ts";
import { aWorld } from "../e2e/world.ts";
import { LONG, someOf } from "../support/long.ts";
import { blocksIn, sectionText } from "../support/pages.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const run = promisify(execFile);
const REPOSITORY = fileURLToPath(new URL("../../", import.meta.url));

test("the package made by `npm pack` starts and syncs without any other package", async () => {
  const folder = temporaryFolder();
  const pack = ["pack", "--json", "--pack-destination", folder];
  const { stdout: packed } = await run("npm", pack, { cwd: dirname(dirname(MAIN)) });
  const files = packedFiles(packed);
  expect([...new Set(files.map((path) => path.replace(/\/.*/, "/")))].toSorted()).toEqual(PACKED);
  // V8 would run it in place of the program that can be read, whoever has made it.
  expect(files.filter((path) => path.endsWith(".compiled"))).toEqual([]);
  const { scripts } = JSON.parse(await readFile(join(REPOSITORY, "package.json"), "utf8"));
  expect(Object.keys(scripts).filter((name) => /install|prepare/.test(name))).toEqual([]);
  const [archive = ""] = await readdir(folder);
  await run("tar", ["-xzf", archive, "--strip-components=1"], { cwd: folder });

  // Help names a page of the package, in whatever folder its reader is.
  const main = join(folder, "dist/main.js");
  const { stdout: help } = await startProcess(process.execPath, [main, "help", "LEASE_HELD"]).ended;
  const [, page = ""] = /^More: (.+\.md)#/m.exec(help) ?? [];
  expect(page).toBe(`${folder}/docs/runbooks.md`);
  expect(existsSync(page)).toBe(true);

  const world = await aWorld({ tenants: 3 });
  const sync = (...flags: string[]) =>
    startProcess(process.execPath, [join(folder, "dist/main.js"), "sync", ...flags], world.env).ended;
  const { code, stdout: report } = await sync("--json");
  expect({ code, report: JSON.parse(report) }).toMatchObject({ code: 0, report: { created: 3 } });
  expect(await world.stored()).toEqual(await world.live());

  // A secret store asks for its vendor's client, which is not installed.
  await world.forgetRequests();
  for (const [store, keys] of someOf(Object.entries(STORES))) {
    await world.configure({ tokens: { store, ...keys } });
    const { code, stdout } = await sync();
    expect({ store, code }).toEqual({ store, code: 78 });
    expect(stdout).toContain(`tokens.store: ${store} needs packages that are not installed`);
    const { [store]: names = [] } = OPTIONAL_PACKAGES as Readonly<Record<string, readonly string[]>>;
    expect(stdout).toContain(`${INSTALL} ${names.join(" ")}`);
  }
  expect(await world.requests()).toMatchObject({ total: 0 });

  // The command in the message installs the client.
  if (!LONG) return;
  await world.configure({ tokens: { store: "aws_secrets_manager", ...STORES.aws_secrets_manager } });
  const { stdout } = await sync();
  await copyFile(join(REPOSITORY, "package-lock.json"), join(folder, "package-lock.json"));
  const [, command = ""] = /folder: npm (.*)/.exec(stdout) ?? [];
  await run("npm", [...command.split(" "), "--ignore-scripts", "--prefer-offline"], { cwd: folder });
  await run(process.execPath, ["-e", 'import("@aws-sdk/client-secrets-manager")'], { cwd: folder });
  expect(existsSync(join(folder, "node_modules/vitest"))).toBe(false);
}, 300_000);

test.runIf(LONG)(
  "the documented commands lead from a clone to the installed program",
  async () => {
    const folder = temporaryFolder();
    const [install = ""] = blocksIn(sectionText("docs/quick-start.md", "1. Install"), "sh");
    const [readme = ""] = blocksIn(sectionText("README.md", "Install"), "sh");
    expect(install).toBe(`${readme}groupsync --version\n`);
    const { version, repository } = JSON.parse(await readFile(join(REPOSITORY, "package.json"), "utf8"));
    const prefix = join(folder, "prefix");
    const env = {
      ...process.env,
      PATH: `${join(prefix, "bin")}${delimiter}${process.env.PATH}`,
      npm_config_prefix: prefix,
      // In place of the address: this working copy's last commit.
      ...{
        GIT_CONFIG_COUNT: "1",
        GIT_CONFIG_KEY_0: `url.${REPOSITORY}.insteadOf`,
        GIT_CONFIG_VALUE_0: repository,
      },
    };
    const { stdout } = await run("sh", ["-ec", install], { cwd: folder, env });
    expect(stdout.trim().split("\n").at(-1)).toBe(version);
    // The folder is not needed any more.
    await rm(join(folder, "groupsync"), { recursive: true });
    const { stdout: again } = await run("groupsync", ["--version"], { cwd: folder, env });
    expect(again).toBe(`${version}\n`);
  },
  900_000,
);

/** What is in the package: files in its folder, and whole folders. */
const PACKED = [
  ...["CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md"],
  ...["config.example.yaml", "deploy/", "dist/", "docs/", "examples/", "package.json"],
];

/** `npm pack --json` lists the files. */
function packedFiles(json: string): string[] {
  const [{ files }]: [{ files: { path: string }[] }] = JSON.parse(json);
  return files.map(({ path }) => path);
}

const STORES = {
  aws_secrets_manager: { region: "eu-central-1" },
  gcp_secret_manager: { project: "my-project" },
  azure_key_vault: { vault_url: "https://v.vault.azure.net" },
  kubernetes: {},
};
