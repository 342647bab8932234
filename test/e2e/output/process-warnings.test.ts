import { expect, test } from "vitest";
import { runProgram } from "../program.ts";
import { aWorld } from "../world.ts";

/** Warns as soon as somebody listens to warnings, in two lines. */
const WARNS = `process.on("newListener", (event) => {
  if (event === "warning") setImmediate(() => process.emitWarning("this is old,\\nand long", "DeprecationWarning"));
})`;

const linesOf = (text: string): readonly unknown[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

test("a warning of a package breaks neither the log's format nor the plan's", async () => {
  const world = await aWorld();
  world.env.NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(WARNS)}`;
  for (const command of ["sync", "plan"]) {
    const { stdout, stderr } = await world.run(command, "--json");
    expect(JSON.parse(stdout)).toEqual(expect.any(Object));
    expect(linesOf(stderr).filter((line) => JSON.stringify(line).includes("old"))).toEqual([
      expect.objectContaining({
        level: "warn",
        code: "PROCESS_WARNING",
        msg: "Node.js warns: DeprecationWarning: this is old, and long",
      }),
    ]);
  }
});

/** Acts as a package that the program loads. */
const LEAVES_A_SOCKET_OPEN =
  "--import data:text/javascript,import%7BcreateServer%7Dfrom%22node:net%22;createServer().listen(0);";

test("a socket that a package leaves open neither keeps the process alive nor changes its exit code", async () => {
  const env = { NODE_OPTIONS: LEAVES_A_SOCKET_OPEN };
  expect(await runProgram(["--version"], env)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^\d/),
  });
  expect(await runProgram(["--config", "nowhere.yaml", "sync"], env)).toMatchObject({
    code: 78,
    stderr: expect.stringContaining("nowhere.yaml"),
  });
});
