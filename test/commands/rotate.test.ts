import { describe, expect, test } from "vitest";
import { cli } from "../../src/cli.ts";
import { type RotateFlags, rotateAndPrint, rotateCommand, selectionOf } from "../../src/commands/rotate.ts";
import { Instance } from "../fakes/instance.ts";
import { VirtualClock } from "../fakes/virtual-time.ts";
import { syncSettings, tenants, World } from "../fakes/world.ts";
import { anIo, type Printed } from "./an-io.ts";

describe("the choice of tokens", () => {
  /** There is no config: what is wrong with the flags comes before that. */
  async function usage(...flags: string[]): Promise<Printed> {
    const { io, printed } = anIo();
    await cli(["--config", "/no/such/config.yaml", "rotate", ...flags], io);
    return printed;
  }

  test.each([
    ["no choice is made", [], "say whose tokens: --only <ID>, --older-than <AGE> or --all"],
    [
      "--only and --all are given",
      ["--only", "a", "--all"],
      "'--only <ID>' cannot be used with option '--all'",
    ],
    [
      "the age is not a duration",
      ["--older-than", "3 weeks"],
      "argument '3 weeks' is invalid. Write it like 12h or 90d.",
    ],
    ["the age is missing", ["--older-than"], "argument missing"],
  ])("is wrong usage if %s, and one message says so", async (_, flags, message) => {
    const { code, stdout, stderr } = await usage(...flags);
    expect({ code, stdout }).toEqual({ code: 64, stdout: "" });
    expect(stderr).toContain(message);
    expect(stderr.match(/error:/g)).toHaveLength(1);
  });

  test("is explained by --help", async () => {
    const { code, stdout } = await usage("--help");
    expect(code).toBe(0);
    expect(stdout).toContain("One of --only, --older-than and --all is required.");
  });
});

describe("a rotation", () => {
  async function aSyncedWorld(): Promise<World> {
    const world = new World(tenants("a", "b", "c"));
    await world.sync();
    world.service.requests.length = 0;
    return world;
  }

  async function rotate(world: World, ...flags: string[]): Promise<Printed> {
    const { io, context, printed } = anIo();
    const ports = { ...world.ports(new Instance(), new VirtualClock(world.time)), observe: () => {} };
    const command = rotateCommand(context).action(async (parsed: RotateFlags) => {
      const selection = selectionOf(parsed);
      if (selection) await rotateAndPrint({ ports, settings: syncSettings() }, selection, parsed, io);
    });
    await command.parseAsync(flags, { from: "user" });
    return printed;
  }

  const rotated = (world: World): string[] => world.service.requests.map(({ id }) => id);

  test("with --only gives new tokens to the named groups alone", async () => {
    const world = await aSyncedWorld();
    const { code, stdout } = await rotate(world, "--only", "c", "--only", "a");
    expect({ code, ids: rotated(world) }).toEqual({ code: 0, ids: ["a", "c"] });
    expect(stdout).toMatch(/^Rotated\n {2}2 rotated; 2 requests in /);
  });

  test("with --json prints a report like that of a sync, without any token", async () => {
    const world = await aSyncedWorld();
    world.store.tokens.delete("b");
    world.store.refused.add("b");
    const { code, stdout } = await rotate(world, "--all", "--json");
    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({
      outcome: "partial",
      created: 0,
      rotated: 2,
      failed: 1,
      held_code: null,
      errors: [{ user_group_id: "b", code: "TOKEN_NOT_STORED" }],
    });
    for (const token of world.service.tokens.values()) expect(stdout).not.toContain(token);
  });

  test("of an unknown group is wrong usage", async () => {
    const { code, stdout } = await rotate(await aSyncedWorld(), "--only", "A");
    expect(code).toBe(64);
    expect(stdout).toMatch(/^The rotation failed: the ledger has no group of "A"\n/);
  });
});
