import { expect, test } from "vitest";
import { runProgram } from "./program.ts";

/** As a package would that the program loads. */
const LEAVES_A_SOCKET_OPEN =
  "--import data:text/javascript,import%7BcreateServer%7Dfrom%22node:net%22;createServer().listen(0);";

test("what a package leaves open doesn't keep the process, nor change how it ends", async () => {
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
