import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Ajv } from "ajv";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { aClient, aGroup } from "../../sandbox/client.ts";
import { runProgram, startProgram } from "../program.ts";
import { runCommand } from "../warm-program.ts";
import { aWorld } from "../world.ts";

const COMMANDS = [
  "sync",
  "init",
  "check",
  "probe",
  "plan",
  "rotate",
  "status",
  "explain",
  "forget",
  "schema",
  "sandbox",
];

test("--help and --version answer for the program and for every command", async () => {
  const { version } = JSON.parse(await readFile(new URL("../../../package.json", import.meta.url), "utf8"));
  const root = await runProgram(["--help"]);
  expect(root).toMatchObject({ code: 0, stderr: "" });
  for (const command of COMMANDS) expect(root.stdout).toMatch(new RegExp(`^  ${command} `, "m"));
  expect(await runProgram(["--version"])).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: "" });

  for (const command of COMMANDS) {
    const help = await runCommand([command, "--help"]).ended;
    expect(help).toMatchObject({ code: 0, stderr: "" });
    expect(help.stdout).toMatch(new RegExp(`^Usage: groupsync ${command} `));
    expect(help.stdout).toMatch(/^Global Options:\n(?: .*\n)* {2}--config <FILE> /m);
    const shown = await runCommand([command, "--version"]).ended;
    expect(shown).toMatchObject({ code: 0, stdout: `${version}\n` });
  }
});

test("schema prints a JSON Schema that accepts config.example.yaml, and needs no config", async () => {
  const { code, stdout, stderr } = await runProgram(["--config", "/nowhere", "schema"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const accepts = new Ajv({ allowUnionTypes: true }).compile(JSON.parse(stdout));
  const example = await readFile(new URL("../../../config.example.yaml", import.meta.url), "utf8");
  expect(accepts(parse(example))).toBe(true);
  expect(accepts({ ...parse(example), schedul: "" })).toBe(false);
});

test.each([
  ["no command", [], "Usage: groupsync"],
  ["an unknown command", ["snyc"], "unknown command 'snyc'\n(Did you mean sync?)"],
  [
    "sync with --only and --verify-tokens",
    ["sync", "--only", "a", "--verify-tokens"],
    "option '--verify-tokens' cannot be used with option '--only <ID>'",
  ],
  [
    "sync with --skip-grace alone",
    ["sync", "--skip-grace"],
    "--skip-grace is about the tenants that --only names",
  ],
  [
    "sync with --skip-grace and --refresh",
    ["sync", "--only", "a", "--skip-grace", "--refresh"],
    "option '--skip-grace' cannot be used with option '--refresh'",
  ],
  ["an unknown option", ["sync", "--josn"], "unknown option '--josn'\n(Did you mean --json?)"],
  ["an option without its value", ["sync", "--only"], "option '--only <ID>' argument missing"],
])("%s is wrong usage", async (_, args, message) => {
  const { code, stdout, stderr } = await runCommand(args).ended;
  expect({ code, stdout }).toEqual({ code: 64, stdout: "" });
  expect(stderr).toContain(message);
});

test("GROUPSYNC_LOG_LEVEL takes the same levels as --log-level, and --log-level overrides it", async () => {
  const env = { GROUPSYNC_LOG_LEVEL: "loud" };
  const { code, stderr } = await runCommand(["sync"], env).ended;
  expect(code).toBe(64);
  expect(stderr).toContain(
    "GROUPSYNC_LOG_LEVEL is 'loud'. Allowed choices are trace, debug, info, warn, error, silent.",
  );
  expect(await runCommand(["--log-level", "info", "plan"], env).ended).toMatchObject({ code: 78 });
});

test("--config overrides GROUPSYNC_CONFIG", async () => {
  const world = await aWorld({ tenants: 1 });
  const other = join(world.folder, "other.yaml");
  await writeFile(other, (await readFile(world.configFile, "utf8")).replace("warehouse", "plan"));
  const { stdout } = await world.run("--config", other, "sync");
  expect(stdout).toContain("1 created");
  expect(await world.groups()).toMatchObject([{ mapping: { "40": "gold" } }]);
});

test("the sandbox serves until it is told to stop, and accepts the key that it prints", async () => {
  const sandbox = startProgram(["sandbox", "--port", "0"]);
  const [printed] = await once(sandbox.child.stdout!, "data");
  const { base_url: baseUrl, api_key: apiKey } = parse(printed).service;
  const client = aClient({ baseUrl, apiKey });
  expect((await client.call("GET", aGroup())).json).toMatchObject({ success: 1, new_user_group: true });
  expect(await sandbox.stop("SIGTERM")).toMatchObject({ code: 0, signal: null, stderr: "" });
});
