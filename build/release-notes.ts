/**
 * `npm run --silent release-notes -- v0.1.0 https://example.com/groupsync` prints the text of a release: what CHANGELOG.md
 * says about the version, with links into the repository at this address. Ends with 1 if CHANGELOG.md says nothing about
 * the version, or if package.json has another version.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import manifest from "../package.json" with { type: "json" };

/** The section of a version, without its heading. Throws if there is none, or if nothing is in it. */
export function sectionOf(changelog: string, version: string): string {
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((text) => text.startsWith(`[${version}] - `));
  const [, notes = ""] = section?.split(/\n(.*)/s) ?? [];
  if (notes.trim() === "") throw new Error(`CHANGELOG.md has nothing about version ${version}`);
  return `${notes.trim()}\n`;
}

/** A release's page breaks a line where its text does, and doesn't know where relative links lead. */
export const asReleasePage = (section: string, files: string): string =>
  section
    .replace(/\n(?![\n#|`-]) */g, " ")
    .trimEnd()
    .replace(/\]\((?!\w+:)/g, `](${files}/`)
    .concat("\n");

/** The version that a tag stands for. Throws if it isn't the version of package.json. */
export function versionOf(tag: string, packageVersion: string): string {
  const version = tag.replace(/^v/, "");
  if (version !== packageVersion) {
    throw new Error(`the tag is ${tag}, and package.json has version ${packageVersion}`);
  }
  return version;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [tag = "", repository = ""] = process.argv.slice(2);
  const changelog = readFileSync(new URL("../CHANGELOG.md", import.meta.url), "utf8");
  const section = sectionOf(changelog, versionOf(tag, manifest.version));
  process.stdout.write(asReleasePage(section, `${repository}/blob/${tag}`));
}
