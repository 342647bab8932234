import { expect, test } from "vitest";
import { runProgram } from "./program.ts";
import { runWarm } from "./warm-program.ts";
import { aWorld } from "./world.ts";

test("a command prints and ends in a warm process as in a process of its own", async () => {
  const { env } = await aWorld();
  for (const args of [
    ["--help"],
    ["snyc"],
    ["--config", "nowhere.yaml", "plan"],
    ["--log-level", "trace", "plan", "--json"],
    ["plan", "--detailed-exitcode"],
  ]) {
    expect(await runWarm(args, env).ended).toEqual(await runProgram(args, env));
  }
});

test("two commands at the same time run in two processes", async () => {
  const world = await aWorld({ service: { latency: { min: 60_000, max: 60_000 } } });
  const working = runWarm(["sync"], world.env);
  expect((await world.run("--version")).code).toBe(0);
  expect(await Promise.race([working.ended, "at work"])).toBe("at work");
});
