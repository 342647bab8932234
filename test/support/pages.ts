import { existsSync, readdirSync, readFileSync } from "node:fs";

const REPOSITORY = new URL("../../", import.meta.url);

/** Every page of the project by its path in the repository, those in folders of docs/, deploy/ and examples/ included. */
export const pages: readonly string[] = [
  ...namesIn("", false),
  ...["docs/", "deploy/", "examples/"].flatMap((folder) =>
    namesIn(folder, true).map((name) => `${folder}${name}`),
  ),
].filter((path) => path.endsWith(".md") && !path.includes("node_modules"));

export const pageText = (page: string): string => readFileSync(new URL(page, REPOSITORY), "utf8");

/** Whether the repository has a file or folder of this path. */
export const isThere = (path: string): boolean => existsSync(new URL(path, REPOSITORY));

/** The text below a heading of the second level or deeper, up to the next heading. A single # may be a comment. */
export const sectionText = (page: string, heading: string): string =>
  pageText(page)
    .split(/^##+ /m)
    .find((section) => section.startsWith(`${heading}\n`)) ?? "";

/** The blocks of code in a language, also those inside of a list. */
export const blocksIn = (text: string, language: string): string[] =>
  [...text.matchAll(new RegExp(`^ *\`\`\`${language}\\n(.*?)^ *\`\`\`$`, "gms"))].map(
    ([, code = ""]) => code,
  );

export const yamlBlocks = (page: string): string[] => blocksIn(pageText(page), "yaml");

export const sectionYaml = (page: string, heading: string): string[] =>
  blocksIn(sectionText(page, heading), "yaml");

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
