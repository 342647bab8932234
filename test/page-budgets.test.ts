import { expect, test } from "vitest";
import { pages, pageText } from "./support/pages.ts";

/** How many words each page may have, generated parts included. A page that needs more says less elsewhere. */
const BUDGETS: Readonly<Record<string, number>> = {
  "README.md": 790,
  "CHANGELOG.md": 2_000,
  "CONTRIBUTING.md": 1_800,
  "SECURITY.md": 400,
  "docs/README.md": 300,
  "docs/application.md": 1_450,
  "docs/commands.md": 2_550,
  "docs/concepts.md": 800,
  "docs/configuration.md": 1_100,
  "docs/databases.md": 1_800,
  "docs/deletions.md": 1_010,
  "docs/deploy.md": 1_900,
  "docs/environments.md": 1_300,
  "docs/errors.md": 3_060,
  "docs/fit.md": 1_300,
  "docs/guarantees.md": 1_600,
  "docs/internals.md": 2_300,
  "docs/new-tenants.md": 1_700,
  "docs/observe.md": 2_200,
  "docs/quick-start.md": 2_100,
  "docs/recovery.md": 1_200,
  "docs/rotation-and-drift.md": 1_500,
  "docs/rows.md": 1_200,
  "docs/runbooks.md": 3_000,
  "docs/secret-stores.md": 1_800,
  "docs/security.md": 2_200,
  "docs/service.md": 2_050,
  "docs/tokens.md": 900,
};

const written = pages.filter((page) => !/^(deploy|examples)\//.test(page));

test.each(written)("%s has no more words than it may have", (page) => {
  expect(wordsIn(pageText(page))).toBeLessThanOrEqual(BUDGETS[page] ?? 0);
});

test("all pages together are few and short", () => {
  expect(written.length).toBeLessThanOrEqual(28);
  const words = written.reduce((sum, page) => sum + wordsIn(pageText(page)), 0);
  expect(words).toBeLessThanOrEqual(42_800);
});

/** Whatever has a letter or a digit in it, but for the comments around generated parts. */
const wordsIn = (text: string): number =>
  text.replace(/<!--.*?-->/gs, "").match(/\S*[\p{L}\p{N}]\S*/gu)?.length ?? 0;
