import { expect, test } from "vitest";
import { commandHelp } from "../../../build/docs/command-help.ts";
import { pageText } from "../../support/pages.ts";

test("docs/commands.md has the help of every command", async () => {
  const commands = [...(await commandHelp()).matchAll(/^ {2}([a-z]+)(?: \[options\].*)? {2,}/gm)]
    .map(([, name]) => name)
    .filter((name) => name !== "help");
  expect(commands.length).toBeGreaterThan(10);
  const page = pageText("docs/commands.md");
  expect(commands.filter((name) => !page.includes(`<!-- generated: help ${name} -->`))).toEqual([]);
});
