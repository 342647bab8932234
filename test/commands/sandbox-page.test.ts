import { expect, test } from "vitest";
import { sandboxCommand } from "../../src/commands/sandbox.ts";
import { pageText } from "../support/pages.ts";

const PAGE = pageText("docs/sandbox.md");

test("docs/sandbox.md has a row for each switch of the sandbox, and no others", () => {
  const { options } = sandboxCommand({ io: { stdout: () => {}, stop: new AbortController().signal } });
  const rows = [...PAGE.matchAll(/^\| (`--.*?) \|/gm)].map(([, cell = ""]) => cell);
  const switches = rows.flatMap((cell) => cell.match(/--[a-z-]+/g) ?? []);
  expect(switches.toSorted()).toEqual(options.map(({ long }) => long).sort());
});
