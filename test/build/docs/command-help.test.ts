import { expect, test } from "vitest";
import { commandHelp, commandNames } from "../../../build/docs/command-help.ts";
import { pageText } from "../../support/pages.ts";

/** The sandbox has so many options that they stand where they are explained. */
const pageOf = (command: string): string => (command === "sandbox" ? "docs/service.md" : "docs/commands.md");

test("the docs have the options of every command", async () => {
  const commands = await commandNames();
  expect(commands.length).toBeGreaterThan(10);
  const lacking = commands.filter(
    (name) => !pageText(pageOf(name)).includes(`<!-- generated: help ${name} -->`),
  );
  expect(lacking).toEqual([]);
});

test("an option's meaning is one line, without the options that all commands have", async () => {
  expect(await commandHelp("explain")).toBe(
    ["| option | meaning |", "| --- | --- |", "| `ID` | the tenant's id, as the source has it |", ""].join(
      "\n",
    ),
  );
  expect(await commandHelp("run")).toBe("It has no options of its own.");
  await expect(commandHelp("serve")).rejects.toThrow("there is no command serve");
});
