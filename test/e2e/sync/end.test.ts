import { expect, test } from "vitest";
import { runProgram } from "../program.ts";

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
