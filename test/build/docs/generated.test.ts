import { expect, test } from "vitest";
import { generated } from "../../../build/docs/generated.ts";
import { pages, pageText } from "../../support/pages.ts";

const withRegions = pages.filter((page) => pageText(page).includes("\n<!-- generated:"));

test("pages have generated regions", () => {
  expect(withRegions).toEqual(
    expect.arrayContaining(["docs/commands.md", "docs/configuration.md", "docs/monitoring.md"]),
  );
});

test.each(withRegions)("%s has what `npm run docs` writes", async (page) => {
  expect(pageText(page)).toBe(await generated(pageText(page)));
});
