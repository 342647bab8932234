import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { FILES, generated } from "../../../build/docs/generated.ts";
import { pages, pageText } from "../../support/pages.ts";

const withRegions = pages.filter((page) => pageText(page).includes("\n<!-- generated:"));
/** Addresses of the repository and of the image, which package.json has. */
const withAddresses = pages.filter((page) => /\bgit clone |@sha256:…/.test(pageText(page)));

test("pages have generated regions", () => {
  expect(withRegions).toEqual(
    expect.arrayContaining(["docs/commands.md", "docs/configuration.md", "docs/observe.md"]),
  );
});

test("pages name the repository and its image", () => {
  expect(withAddresses).toEqual(
    expect.arrayContaining(["README.md", "docs/deploy.md", "docs/quick-start.md"]),
  );
});

test.each([...new Set([...withRegions, ...withAddresses])])(
  "%s has what `npm run docs` writes",
  async (page) => {
    expect(pageText(page)).toBe(await generated(pageText(page)));
  },
);

test.each(Object.entries(FILES))("%s is what `npm run docs` writes", (path, text) => {
  expect(readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8")).toBe(text());
});
