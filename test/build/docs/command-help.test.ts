import { expect, test } from "vitest";
import { commandHelp } from "../../../build/docs/command-help.ts";
import { pageText } from "../../support/pages.ts";

test("the help of a command stands behind its prompt, without what all commands have", async () => {
  const help = await commandHelp("plan");
  expect(help).toContain("$ groupsync plan --help\nUsage: groupsync plan [options]\n");
  expect(help).toContain("  --detailed-exitcode  ");
  expect(help).not.toContain("--log-level");
  expect(await commandHelp()).toContain("--log-level <LEVEL>");
});

test("a command that isn't there is an error", async () => {
  await expect(commandHelp("plann")).rejects.toThrow("there is no command plann");
});

test("docs/commands.md has the help of every command", async () => {
  const commands = [...(await commandHelp()).matchAll(/^ {2}([a-z]+)(?: \[options\].*)? {2,}/gm)]
    .map(([, name]) => name)
    .filter((name) => name !== "help");
  expect(commands.length).toBeGreaterThan(10);
  const page = pageText("docs/commands.md");
  expect(commands.filter((name) => !page.includes(`<!-- generated: help ${name} -->`))).toEqual([]);
});
