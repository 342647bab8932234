import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";

const REPOSITORY = fileURLToPath(new URL("../", import.meta.url));
const pages = [
  ...readdirSync(REPOSITORY).filter((name) => name.endsWith(".md")),
  ...readdirSync(join(REPOSITORY, "docs")).map((name) => `docs/${name}`),
];
const textOf = (page: string): string => readFileSync(join(REPOSITORY, page), "utf8");

/** As a page of Markdown calls its headings: in small letters, without punctuation, with - for a blank. */
const anchorsOf = (text: string): string[] =>
  [...text.replace(/^```.*?^```$/gms, "").matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );

describe.each(pages)("%s", (page) => {
  test("has YAML that can be read", () => {
    const blocks = [...textOf(page).matchAll(/^ *```yaml\n(.*?)^ *```$/gms)].map(([, text = ""]) => text);
    const documents = blocks.flatMap((text) => parseAllDocuments(text));
    expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
  });

  test("links to what is there", () => {
    const links = [...textOf(page).matchAll(/\]\((?!\w+:)([^)#]*)(?:#([^)]*))?\)/g)];
    const dead = links.filter(([, path = "", anchor]) => {
      const target = path === "" ? page : join(dirname(page), path);
      if (!existsSync(join(REPOSITORY, target))) return true;
      return anchor !== undefined && !anchorsOf(textOf(target)).includes(anchor);
    });
    expect(dead.map(([link]) => link)).toEqual([]);
  });
});
