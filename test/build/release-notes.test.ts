import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { asReleasePage, sectionOf, versionOf } from "../../build/release-notes.ts";

const CHANGELOG = `# Changelog

## [0.3.0] - unreleased

## [0.2.0] - 2027-01-01

### Added

- One thing, in
  two lines. See [the page](docs/a.md#b).
- Another.

## [0.1.0] - 2026-11-25

First.
`;

test("the notes of a release are its section of the changelog", () => {
  expect(sectionOf(CHANGELOG, "0.1.0")).toBe("First.\n");
  expect(sectionOf(CHANGELOG, "0.2.0")).toMatch(/^### Added\n.*- Another\.\n$/s);
  expect(() => sectionOf(CHANGELOG, "0.3.0")).toThrow("nothing about version 0.3.0");
  expect(() => sectionOf(CHANGELOG.replace("First.", ""), "0.1.0")).toThrow("nothing about version 0.1.0");
});

test("a release's page has no line breaks inside of a sentence, and links that lead to the files", () => {
  const files = "https://example.com/groupsync/blob/v0.2.0";
  expect(asReleasePage(sectionOf(CHANGELOG, "0.2.0"), files)).toBe(
    `### Added\n\n- One thing, in two lines. See [the page](${files}/docs/a.md#b).\n- Another.\n`,
  );
});

test("a tag of another version than package.json's makes no release", () => {
  expect(versionOf("v0.1.0", "0.1.0")).toBe("0.1.0");
  expect(() => versionOf("v0.1.1", "0.1.0")).toThrow("the tag is v0.1.1, and package.json has version 0.1.0");
});

test("CHANGELOG.md begins with the present version, or with the one that is unreleased before it", () => {
  const root = new URL("../../", import.meta.url);
  const changelog = readFileSync(new URL("CHANGELOG.md", root), "utf8");
  const { version } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));
  const headings = [...changelog.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
  const [first, ...former] = headings;
  expect(first).toMatch(/^\[[\d.]+\] - (unreleased|\d{4}-\d\d-\d\d)$/);
  for (const heading of former) expect(heading).toMatch(/ - \d{4}-\d\d-\d\d$/);
  expect(sectionOf(changelog, version)).toContain("### Added");
});
