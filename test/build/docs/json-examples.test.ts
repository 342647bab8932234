import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { EXIT } from "../../../src/core/report/exit-code.ts";
import { pageText } from "../../support/pages.ts";

const page = pageText("docs/commands.md");
const sections = page.split(/^## /m).flatMap((section): [command: string, section: string][] => {
  const [, command, keys = ""] = /\]\(json\/(\w+)\.json\)(.*)/s.exec(section) ?? [];
  return command === undefined ? [] : [[command, keys]];
});
/** The table of `rotate` is that of `sync`. */
const sectionOf = Object.fromEntries(sections.map(([command, section]) => [command, section]));

test("every example is linked to", () => {
  const recorded = readdirSync(new URL("../../../docs/json/", import.meta.url)).sort();
  expect(sections.map(([command]) => `${command}.json`).toSorted()).toEqual(recorded);
});

test.each(sections)("the keys of %s --json are explained, and no others", (command) => {
  const rows = sectionOf[command === "rotate" ? "sync" : command]?.matchAll(/^\| (`.+?) \| .+ \|$/gm) ?? [];
  const explained = [...rows].flatMap(([, cell = ""]) => wordsIn(cell));
  expect(explained.toSorted()).toEqual(Object.keys(exampleOf(command)).sort());
});

test.each(sections.filter(([command]) => command !== "rotate"))(
  "each key within the object of %s --json is named",
  (command, section) => {
    const named = new Set([...wordsIn(section), ...sharedKeys(command)]);
    expect([...keysIn(exampleOf(command))].filter((key) => !named.has(key))).toEqual([]);
  },
);

test("every exit code has a row", () => {
  const documented = [...page.matchAll(/^\| (\d+) \| /gm)].map(([, code]) => Number(code));
  expect(documented).toEqual(Object.values(EXIT).toSorted((one, other) => one - other));
});

const exampleOf = (command: string): object => JSON.parse(pageText(`docs/json/${command}.json`));

const wordsIn = (text: string): string[] => [...text.matchAll(/`(\w+)`/g)].map(([, word = ""]) => word);

/** A run in `status` has the counts of `sync`. */
const sharedKeys = (command: string): readonly string[] =>
  command === "status" ? [...keysIn(exampleOf("sync"))] : [];

/** What holds data in place of keys of groupsync's own. */
const DATA = ["rows", "mapping", "properties"];

function keysIn(value: unknown, within = ""): Set<string> {
  if (Array.isArray(value)) return new Set(value.flatMap((item) => [...keysIn(item, within)]));
  if (typeof value !== "object" || value === null) return new Set();
  return new Set(
    Object.entries(value).flatMap(([key, inner]) => {
      // In `status`, rows are lists of errors.
      const isData = DATA.includes(within) && !("code" in value);
      return [...(isData ? [] : [key]), ...keysIn(inner, key)];
    }),
  );
}
