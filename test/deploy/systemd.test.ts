import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { blocksIn, sectionText } from "../support/pages.ts";
import { installedProgram } from "../support/servers/debian-packages.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { image, loadDeployed, SECRETS, textOf } from "./files.ts";

const UNIT = "groupsync.service";
const unit = textOf(`deploy/${UNIT}`);
/** Every value of a setting, in the order of the file. */
const valuesOf = (name: string): string[] =>
  [...unit.matchAll(new RegExp(`^${name}=(.*)$`, "gm"))].map(([, value = ""]) => value);
const credentials = valuesOf("LoadCredential").map((value) => value.split(":"));

test("starts the program by its name in package.json, with the config path from the docs", () => {
  expect(valuesOf("ExecStart")).toEqual([`${image.program} --config ${image.config} run`]);
  expect(Object.keys(JSON.parse(textOf("package.json")).bin)).toEqual([image.program.split("/").at(-1)]);
  expect(valuesOf("RestartPreventExitStatus")).toEqual(["64 78"]);
});

test("gives the daemon the secrets that its config reads, as files only", () => {
  expect(credentials.map(([name]) => name)).toEqual(Object.keys(SECRETS));
  expect([...valuesOf("Environment"), ...valuesOf("EnvironmentFile")]).toEqual([]);
  const files = credentials.map(([name = ""]) => [
    `/run/credentials/${UNIT}/${name}`,
    SECRETS[name as keyof typeof SECRETS],
  ]);
  const config = loadDeployed(Object.fromEntries(files), inCredentials);
  expect(Number(valuesOf("TimeoutStopSec")[0]) * 1000).toBeGreaterThan(config.shutdown_timeout);
});

const [commands = ""] = blocksIn(sectionText("docs/deploy.md", "systemd"), "sh");
/** The change that the page makes to the config. */
function inCredentials(text: string): string {
  const [, from = "", to = ""] = /sed -i 's\|(.+?)\|(.+?)\|'/.exec(commands) ?? [];
  return text.replaceAll(from, to);
}

test("the commands in the docs put every file where the unit reads it, and name the program that is installed", async () => {
  const folder = temporaryFolder();
  const there = (text: string): string => text.replaceAll(/(?<![\w.}])\/(?=etc\/)/g, `${folder}/`);
  mkdirSync(join(folder, "etc/systemd/system"), { recursive: true });
  mkdirSync(join(folder, "lib/groupsync"), { recursive: true });
  mkdirSync(join(folder, "secrets"));
  symlinkSync(fileURLToPath(new URL("../../deploy", import.meta.url)), join(folder, "lib/groupsync/deploy"));
  writeFileSync(join(folder, "config.yaml"), textOf("deploy/config.yaml"));
  const url = "postgres://x@db/shop?sslrootcert=/run/secrets/groupsync/ca.pem";
  for (const name of Object.keys(SECRETS)) writeFileSync(join(folder, "secrets", name), url);
  const stubs = {
    npm: `[ "$*" != "root --global" ] || echo "${folder}/lib"`,
    groupsync: "",
    systemctl: `echo "$*"`,
    journalctl: "",
  };
  for (const [name, text] of Object.entries(stubs))
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });

  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` };
  const { stdout } = await promisify(execFile)("sh", ["-ec", there(commands)], { cwd: folder, env });
  expect(stdout).toBe("daemon-reload\nenable --now groupsync\n");
  const read = (path: string): string => readFileSync(join(folder, path), "utf8");
  expect(read(`etc/systemd/system/${UNIT}`)).toBe(unit.replace(image.program, join(folder, "groupsync")));
  expect(read(image.config)).toBe(inCredentials(textOf("deploy/config.yaml")));
  for (const [name = "", path = ""] of credentials)
    expect(read(path)).toBe(name === "api-key" ? url : inCredentials(url));
});

test("never writes memory of the process to a disk", () => {
  expect(valuesOf("LimitCORE")).toEqual(["0"]);
  expect(valuesOf("MemorySwapMax")).toEqual(["0"]);
});

const analyze = installedProgram("systemd-analyze");
if (analyze === undefined)
  console.error("\n!!! systemd-analyze is not installed: systemd itself is NOT asked about the unit.\n");

describe.skipIf(analyze === undefined)("systemd", () => {
  const ask = (...args: readonly string[]) => {
    const folder = temporaryFolder();
    const file = join(folder, UNIT);
    // systemd-analyze checks whether the program exists, and groupsync isn't installed on this machine.
    writeFileSync(file, unit.replace(image.program, process.execPath));
    // Another package's unit, of which systemd complains too.
    const others = join(folder, "others");
    mkdirSync(join(others, "network-online.target.wants"), { recursive: true });
    writeFileSync(join(others, "old.service"), "[Service]\nExecStart=/bin/true\nStandardOutput=syslog\n");
    symlinkSync("../old.service", join(others, "network-online.target.wants/old.service"));
    const env = { ...process.env, SYSTEMD_UNIT_PATH: `${others}:` };
    return promisify(execFile)(analyze ?? "", [...args, file], { env });
  };

  test("knows every setting of the unit, whatever other units there are", async () => {
    const { stderr } = await ask("verify", "--man=no").catch((error) => error);
    expect(stderr).toContain("old.service");
    expect(stderr.split("\n").filter((line: string) => line.includes(UNIT))).toEqual([]);
  });

  test("rates the unit's exposure as low", async () => {
    const { stdout } = await ask("security", "--offline=yes", "--no-pager", "--threshold=20");
    expect(stdout).toContain("Overall exposure level");
  });
});
