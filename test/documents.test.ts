import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { isThere, pages, pageText, yamlBlocks } from "./support/pages.ts";

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
    const documents = yamlBlocks(page).flatMap((text) => parseAllDocuments(text));
    expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
  });

  test("links to what is there", () => {
    const links = [...pageText(page).matchAll(/\]\((?!\w+:)([^)#]*)(?:#([^)]*))?\)/g)];
    const dead = links.filter(([, path = "", anchor]) => {
      const target = path === "" ? page : join(dirname(page), path);
      if (!isThere(target)) return true;
      return anchor !== undefined && !anchorsOf(pageText(target)).includes(anchor);
    });
    expect(dead.map(([link]) => link)).toEqual([]);
  });
});
