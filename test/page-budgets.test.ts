import { expect, test } from "vitest";
import { pages, pageText } from "./support/pages.ts";

/** How many words each page may have, generated parts included. A page that needs more says less elsewhere. */
const BUDGETS: Readonly<Record<string, number>> = {
  "README.md": 775,
  "CHANGELOG.md": 500,
  "CONTRIBUTING.md": 1_150,
  "SECURITY.md": 450,
  "docs/README.md": 350,
  "docs/application.md": 1_350,
  "docs/commands.md": 2_275,
  "docs/concepts.md": 750,
  "docs/configuration.md": 900,
  "docs/databases.md": 1_450,
  "docs/deletions.md": 925,
  "docs/deploy.md": 1_625,
  "docs/environments.md": 950,
  "docs/errors.md": 3_065,
  "docs/fit.md": 1_000,
  "docs/guarantees.md": 1_300,
  "docs/internals.md": 1_450,
  "docs/new-tenants.md": 1_500,
  "docs/observe.md": 1_775,
  "docs/quick-start.md": 1_750,
  "docs/recovery.md": 1_100,
  "docs/rotation-and-drift.md": 1_225,
  "docs/rows.md": 1_075,
  "docs/runbooks.md": 2_725,
  "docs/secret-stores.md": 1_475,
  "docs/security.md": 1_825,
  "docs/service.md": 1_550,
  "docs/tokens.md": 850,
};

const written = pages.filter((page) => !/^(deploy|examples)\//.test(page));

test.each(written)("%s has no more words than it may have", (page) => {
  expect(wordsIn(pageText(page))).toBeLessThanOrEqual(BUDGETS[page] ?? 0);
});

test("all pages together are few and short", () => {
  expect(written.length).toBeLessThanOrEqual(28);
  const words = written.reduce((sum, page) => sum + wordsIn(pageText(page)), 0);
  expect(words).toBeLessThanOrEqual(36_000);
});

/** Whatever has a letter or a digit in it, but for the comments around generated parts. */
const wordsIn = (text: string): number =>
  text.replace(/<!--.*?-->/gs, "").match(/\S*[\p{L}\p{N}]\S*/gu)?.length ?? 0;
