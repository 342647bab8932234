import { expect, test } from "vitest";
import { cli } from "../../src/cli.ts";
import { helpCommand } from "../../src/commands/help.ts";
import { KNOWN_CODES } from "../../src/core/failure/error-codes.ts";
import { anIo } from "./an-io.ts";

async function help(...args: string[]) {
  const { io, printed } = anIo();
  await cli(["help", ...args], io);
  return printed;
}

test.each(KNOWN_CODES)("what help says of %s needs no page, because a container has none", async (code) => {
  const { context, printed } = anIo();
  await helpCommand({ ...context, pages: undefined }).parseAsync([code], { from: "user" });
  expect(printed.stdout).toMatch(/^[A-Z_]+\n\n[^\n]+\n\nWhat to do: [^\n]+\n$/);
  expect(printed.stdout).not.toMatch(/\.md|\]\(|What to do: See /);
});

test("help tells what a code means and what to do, in any case", async () => {
  const { stdout, stderr, code } = await help("value_empty");
  expect({ stderr, code }).toEqual({ stderr: "", code: 0 });
  expect(stdout).toMatch(
    /^VALUE_EMPTY\n\nThe name.* is empty or blank\.\n\nWhat to do: Fill the column, .*source\.ready_when\.\n\nMore: \S*docs\/rows\.md#\S+\n$/,
  );
});

test("help shows a command's options, and all commands", async () => {
  expect((await help("sync")).stdout).toContain("--approve-deletions");
  expect((await help()).stdout).toContain("explain");
});

test("help names the code that is meant", async () => {
  const { stderr, code } = await help("KEY_REFUSD");
  expect(stderr).toContain("did you mean KEY_REFUSED?");
  expect(code).toBe(64);
});
