import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { declaredSchema } from "../src/config/json-schema.ts";
import { anchorsOf, isThere } from "./support/pages.ts";
import { readSource } from "./support/source-text.ts";

const REPOSITORY = new URL("../", import.meta.url);

/** Files that send their reader to a page of docs/, in a message or a comment. */
const files = [
  ...["config.example.yaml", "Dockerfile"],
  ...["src/", "deploy/"].flatMap((folder) =>
    readdirSync(new URL(folder, REPOSITORY), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.endsWith(".md"))
      .map(({ parentPath, name }) => join(parentPath, name).replace(REPOSITORY.pathname, "")),
  ),
];

test.each(files.flatMap((file) => pagesNamedIn(file).map((page) => [file, page])))(
  "%s names a page that is there: %s",
  (_, named = "") => expectPage(named),
);

const configPages = JSON.stringify(declaredSchema()).matchAll(/"see":"([^"]+)"/g);
test.each([...new Set([...configPages].map(([, page = ""]) => page))])(
  "the description of a key of the config names a page that is there: %s",
  (see) => expectPage(`docs/${see}`),
);

test("no text that the program prints names a file that a container doesn't have", () => {
  const texts = files
    .filter((file) => file.startsWith("src/"))
    .flatMap((file) => {
      const { strings, templates } = readSource(readFileSync(new URL(file, REPOSITORY), "utf8"));
      return [...strings, ...templates].map((text) => ({ file, text }));
    });
  expect(texts.length).toBeGreaterThan(5_000);
  expect(texts.filter(({ text }) => /\bdocs\/|config\.example|runbooks\b(?!\.md#)/.test(text))).toEqual([]);
});

function expectPage(named: string): void {
  const [page = "", anchor] = named.split("#");
  expect(isThere(page)).toBe(true);
  if (anchor !== undefined) expect(anchorsOf(page)).toContain(anchor);
}

function pagesNamedIn(file: string): string[] {
  const text = readFileSync(new URL(file, REPOSITORY), "utf8");
  return [...new Set(text.match(/\bdocs\/[a-z/-]+\.md(#[a-z0-9_-]+)?/gi) ?? [])];
}
