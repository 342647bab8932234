import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { anchorsOf, isThere, pages, pageText, yamlBlocks } from "./support/pages.ts";

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
      return anchor !== undefined && !anchorsOf(target).includes(anchor);
    });
    expect(dead.map(([link]) => link)).toEqual([]);
  });
});

test("docs/README.md lists every page of docs", () => {
  const index = pageText("docs/README.md");
  const isListed = (page: string): boolean => index.includes(`](${page.slice("docs/".length)})`);
  const others = pages.filter((page) => page.startsWith("docs/") && page !== "docs/README.md");
  expect(others.filter((page) => !isListed(page))).toEqual([]);
});
