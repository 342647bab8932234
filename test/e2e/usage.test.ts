import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { aClient, aGroup } from "../sandbox/client.ts";
import { runProgram, startProgram } from "./program.ts";
import { aWorld } from "./world.ts";

const COMMANDS = ["sync", "plan", "rotate", "status", "sandbox"];

test("--help and --version answer for the program and for every command", async () => {
  const { version } = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8"));
  const root = await runProgram(["--help"]);
  expect(root).toMatchObject({ code: 0, stderr: "" });
  for (const command of COMMANDS) expect(root.stdout).toMatch(new RegExp(`^  ${command} `, "m"));
  expect(await runProgram(["--version"])).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: "" });

  await Promise.all(
    COMMANDS.map(async (command) => {
      const help = await runProgram([command, "--help"]);
      expect(help).toMatchObject({ code: 0, stderr: "" });
      expect(help.stdout).toMatch(new RegExp(`^Usage: groupsync ${command} `));
      expect(help.stdout).toMatch(/^Global Options:\n(?: .*\n)* {2}--config <FILE> /m);
      expect(await runProgram([command, "--version"])).toMatchObject({ code: 0, stdout: `${version}\n` });
    }),
  );
});

test.each([
  ["no command", [], "Usage: groupsync"],
  ["an unknown command", ["snyc"], "unknown command 'snyc'\n(Did you mean sync?)"],
  ["a rotation of nothing in particular", ["rotate"], "say whose tokens"],
  ["a rotation of some and of all tokens", ["rotate", "--only", "a", "--all"], "cannot be used with option"],
  [
    "a sync of some that looks at all tokens",
    ["sync", "--only", "a", "--verify-tokens"],
    "option '--verify-tokens' cannot be used with option '--only <ID>'",
  ],
  [
    "an age that is none",
    ["rotate", "--older-than", "x"],
    "argument 'x' is invalid. Write it like 12h or 90d.",
  ],
  [
    "no number of runs",
    ["status", "--runs", "0"],
    "argument '0' is invalid. It has to be a whole number from 1 on.",
  ],
  ["a command that there is not", ["runn"], "unknown command 'runn'\n(Did you mean run?)"],
  ["an unknown option", ["sync", "--josn"], "unknown option '--josn'\n(Did you mean --json?)"],
  ["an option without its value", ["sync", "--only"], "option '--only <ID>' argument missing"],
  ["an argument too many", ["plan", "everything"], "too many arguments for 'plan'"],
  ["an unknown log level", ["--log-level", "loud", "sync"], "argument 'loud' is invalid"],
])("%s is wrong usage", async (_, args, message) => {
  const { code, stdout, stderr } = await runProgram(args);
  expect({ code, stdout }).toEqual({ code: 64, stdout: "" });
  expect(stderr).toContain(message);
});

test("GROUPSYNC_LOG_LEVEL takes the same levels as --log-level, which goes before it", async () => {
  const env = { GROUPSYNC_LOG_LEVEL: "loud" };
  for (const command of COMMANDS) {
    const { code, stdout, stderr } = await runProgram([command], env);
    expect({ code, stdout }).toEqual({ code: 64, stdout: "" });
    expect(stderr).toContain(
      "GROUPSYNC_LOG_LEVEL is 'loud'. Allowed choices are trace, debug, info, warn, error, silent.",
    );
  }
  expect(await runProgram(["--log-level", "info", "plan"], env)).toMatchObject({ code: 78 });
});

test("an id that the ledger doesn't know is wrong usage, and nobody's token is touched", async () => {
  const world = await aWorld({ tenants: 2 });
  expect((await world.sync()).code).toBe(0);
  await world.forgetRequests();
  for (const command of ["sync", "rotate"]) {
    const { code, stdout } = await world.run(command, "--only", "t-00001", "--only", "T-00002");
    expect({ code, stdout }).toEqual({ code: 64, stdout: expect.stringContaining('"T-00002"') });
  }
  expect(await world.requests()).toMatchObject({ total: 0 });
});

describe("a wrong config", () => {
  test("is reported as a whole, and nothing is contacted", async () => {
    const world = await aWorld({
      tenants: 1,
      config: {
        service: { concurency: 8, timeout: "soon" },
        source: { query: "SELECT 1" },
      },
    });
    for (const command of ["sync", "plan", "status"]) {
      const { code, stdout, stderr } = await world.run(command);
      expect({ code, stdout }).toEqual({ code: 78, stdout: "" });
      expect(stderr).toContain(`${world.configFile} has 3 problems:`);
      expect(stderr).toMatch(/line 4 +service\.concurency: .*concurrency/);
      expect(stderr).toMatch(/line 5 +service\.timeout: .*15s/);
      expect(stderr).toMatch(/line 9 +source\.query: .*table/);
    }
    expect(await world.requests()).toMatchObject({ total: 0 });
  });

  test("names a variable that is not set, and its line", async () => {
    const world = await aWorld({ tenants: 0 });
    delete world.env.GROUPSYNC_API_KEY;
    const { code, stderr } = await world.run("sync");
    expect(code).toBe(78);
    expect(stderr).toMatch(/line 3 +service\.api_key: .*GROUPSYNC_API_KEY/);
  });

  test("a file that is not there", async () => {
    const { code, stderr } = await runProgram(["--config", "/no/such/config.yaml", "plan"]);
    expect(code).toBe(78);
    expect(stderr).toContain("/no/such/config.yaml");
    expect(stderr).toContain("--config or GROUPSYNC_CONFIG");
  });
});

test("--config goes before GROUPSYNC_CONFIG", async () => {
  const world = await aWorld({ tenants: 1 });
  const other = join(world.folder, "other.yaml");
  await writeFile(other, (await readFile(world.configFile, "utf8")).replace("warehouse", "plan"));
  const { stdout } = await world.run("--config", other, "sync");
  expect(stdout).toContain("1 created");
  expect(await world.groups()).toMatchObject([{ mapping: { "40": "gold" } }]);
});

test("the sandbox serves until it is told to stop, and its key leads to it", async () => {
  const sandbox = startProgram(["sandbox", "--port", "0"]);
  const [printed] = await once(sandbox.child.stdout!, "data");
  const { base_url: baseUrl, api_key: apiKey } = parse(printed).service;
  const client = aClient({ baseUrl, apiKey, certificate: undefined });
  expect((await client.call("GET", aGroup())).json).toMatchObject({ success: 1, new_user_group: true });
  expect(await sandbox.stop("SIGTERM")).toMatchObject({ code: 0, signal: null, stderr: "" });
});
