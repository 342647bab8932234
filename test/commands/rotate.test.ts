import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { cli } from "../../src/cli.ts";
import { type RotateFlags, rotateAndPrint, rotateCommand } from "../../src/commands/rotate.ts";
import { Instance } from "../fakes/instance.ts";
import { VirtualClock } from "../fakes/virtual-time.ts";
import { aSyncedWorld, syncSettings, type World } from "../fakes/world.ts";
import { anIo, type Printed } from "./an-io.ts";

describe("the choice of tokens", () => {
  /** There is no config: what is wrong with the flags comes before that. */
  async function usage(...flags: string[]): Promise<Printed> {
    const { io, printed } = anIo();
    await cli(["--config", "/no/such/config.yaml", "rotate", ...flags], io);
    return printed;
  }

  test("is agreed to by --yes alone with --json, which asks no question", async () => {
    const { io, printed } = anIo();
    const person = () => ({ input: new PassThrough(), output: new PassThrough() });
    const flags = ["rotate", "--all", "--json"];
    await cli(["--config", "/no/such/config.yaml", ...flags], { ...io, person });
    expect(printed).toMatchObject({ code: 64, stderr: expect.stringContaining("say --yes") });
  });

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
    [
      "nobody can agree to the end of all tokens",
      ["--all"],
      "say --yes, because nobody can be asked without a terminal",
    ],
    ["nobody can agree to the end of old tokens", ["--older-than", "90d"], "--cancel takes back"],
    ["no token is chosen to agree to", ["--yes"], "or --cancel to take back"],
    ["what is taken back is asked for, too", ["--cancel", "--all"], "cannot be used with option '--all'"],
  ])("is wrong usage if %s, and one message says so", async (_, flags, message) => {
    const { code, stdout, stderr } = await usage(...flags);
    expect({ code, stdout }).toEqual({ code: 64, stdout: "" });
    expect(stderr).toContain(message);
    expect(stderr.match(/error:/g)).toHaveLength(1);
  });

  test("is explained by --help", async () => {
    const { code, stdout } = await usage("--help");
    expect(code).toBe(0);
    expect(stdout).toContain("One of --only, --older-than, --all and --cancel is required.");
  });
});

describe("a rotation", () => {
  const rotate = (world: World, ...flags: string[]): Promise<Printed> => rotateAsked(undefined, world, flags);

  /** `answer` is what the person types; undefined if nobody is there. */
  async function rotateAsked(
    answer: string | undefined,
    world: World,
    flags: readonly string[],
  ): Promise<Printed> {
    const { io, context, printed } = anIo();
    const ports = { ...world.ports(new Instance(), new VirtualClock(world.time)), observe: () => {} };
    const command = rotateCommand(context).action(async (parsed: RotateFlags) => {
      const ask = answer === undefined ? undefined : async () => answer;
      await rotateAndPrint({ ports, settings: syncSettings() }, parsed, ask, io);
    });
    await command.parseAsync([...flags], { from: "user" });
    return printed;
  }

  const rotated = (world: World): string[] => world.service.requests.map(({ id }) => id);

  test.each([
    ["y", ["a", "b", "c"], 0],
    ["no", [], 1],
  ])("of all groups begins if the person agrees, and %s does so for %j", async (answer, ids, code) => {
    const world = await aSyncedWorld(["a", "b", "c"]);
    const printed = await rotateAsked(answer, world, ["--all"]);
    expect({ code: printed.code, ids: rotated(world) }).toEqual({ code, ids });
    const isWanted = [...world.ledger.rows.values()].some(({ wantedSince }) => wantedSince !== null);
    expect(isWanted).toBe(false);
  });

  test("with --dry-run only counts", async () => {
    const world = await aSyncedWorld(["a", "b", "c"]);
    expect(await rotate(world, "--all", "--dry-run", "--yes")).toMatchObject({
      code: 0,
      stdout: "3 tokens to rotate\n",
    });
    expect((await rotate(world, "--only", "a", "--dry-run", "--json")).stdout).toBe('{"tokens":1}\n');
    expect(rotated(world)).toEqual([]);
  });

  test("can be taken back, of some groups or of all", async () => {
    const world = await aSyncedWorld(["a", "b", "c"]);
    for (const [id, record] of world.ledger.rows)
      world.ledger.rows.set(id, { ...record, wantedSince: new Date(0) });
    expect(await rotate(world, "--cancel", "--only", "a", "--yes")).toMatchObject({
      code: 0,
      stdout: "No new token is wanted any more for these groups\n",
    });
    expect(world.ledger.rows.get("b")?.wantedSince).not.toBeNull();
    await rotate(world, "--cancel");
    expect(world.ledger.rows.get("b")?.wantedSince).toBeNull();
    expect(rotated(world)).toEqual([]);
  });
});
