import { existsSync, readdirSync, readFileSync } from "node:fs";

const REPOSITORY = new URL("../../", import.meta.url);

/** Every page of the project by its path in the repository, those in folders of docs/ and deploy/ included. */
export const pages: readonly string[] = [
  ...namesIn("", false),
  ...["docs/", "deploy/"].flatMap((folder) => namesIn(folder, true).map((name) => `${folder}${name}`)),
].filter((path) => path.endsWith(".md"));

export const pageText = (page: string): string => readFileSync(new URL(page, REPOSITORY), "utf8");

/** Whether the repository has a file or folder of this path. */
export const isThere = (path: string): boolean => existsSync(new URL(path, REPOSITORY));

/** The YAML blocks of a page, also those inside of a list. */
export const yamlBlocks = (page: string): string[] => yamlIn(pageText(page));

/** The YAML blocks below a heading of the second level or deeper, up to the next heading. A single # may be a comment. */
export const sectionYaml = (page: string, heading: string): string[] =>
  yamlIn(
    pageText(page)
      .split(/^##+ /m)
      .find((section) => section.startsWith(`${heading}\n`)) ?? "",
  );

const yamlIn = (text: string): string[] =>
  [...text.matchAll(/^ *```yaml\n(.*?)^ *```$/gms)].map(([, yaml = ""]) => yaml);

/** As a page of Markdown calls its headings: in small letters, without punctuation, with - for a blank. */
export const anchorsOf = (page: string): string[] =>
  [
    ...pageText(page)
      .replace(/^```.*?^```$/gms, "")
      .matchAll(/^#+ (.*)$/gm),
  ].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );

function namesIn(folder: string, recursive: boolean): string[] {
  return readdirSync(new URL(folder, REPOSITORY), { recursive, encoding: "utf8" }).sort();
}
