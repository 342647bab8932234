import { expect, test } from "vitest";
import { image, textOf } from "./files.ts";

const page = textOf("docs/security.md");

/** The table under "Hardening": each piece of code in a cell, with the file in the head of its column. */
function settings(): [file: string, setting: string][] {
  const [, table = ""] = /^## Hardening\n\n((?:\|.*\n)+)/m.exec(page) ?? [];
  const [head = [], , ...rows] = table.split("\n").map((row) => row.split("|").slice(1, -1));
  const files = head.map((cell) => (/\((.+?)\)/.exec(cell)?.[1] ?? "Dockerfile").replace("../", ""));
  return rows.flatMap((cells) =>
    cells
      .slice(1)
      .flatMap((cell, column) =>
        [...cell.matchAll(/`(.+?)`/g)].map(([, setting = ""]): [string, string] => [
          files[column + 1] ?? "",
          setting,
        ]),
      ),
  );
}

/** The text without quotes and commas: settings may stand in a command line or in a list of arguments. */
const flat = (text: string): string => text.replace(/["',]/g, "");

test("each setting in the table is in the file that its column names", () => {
  const found = settings();
  expect(found.length).toBeGreaterThan(20);
  expect(found.filter(([file, setting]) => !flat(textOf(file)).includes(setting))).toEqual([]);
});

test("the pgrep pattern finds the daemon's process, with or without options, and no other command's", () => {
  const [, pattern = ""] = /pgrep --full --oldest '(.+?)'/.exec(page) ?? [];
  const found = (args: string): boolean => new RegExp(pattern).test(`node ${image.program} ${args}`);
  expect([found("run"), found(`--config ${image.config} run`)]).toEqual([true, true]);
  expect([found("sync --json"), found("status")]).toEqual([false, false]);
});
