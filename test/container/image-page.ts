import { pageText } from "../support/pages.ts";

const blocks = (language: string): string[] =>
  [...pageText("docs/image.md").matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))].map(
    ([, text = ""]) => text,
  );

/** What docs/image.md tells an operator to do. */
export const imagePage = {
  text: pageText("docs/image.md"),
  build: blocks("sh")[0] ?? "",
  derived: blocks("dockerfile")[0] ?? "",
  behindProxy: blocks("dockerfile")[1] ?? "",
};
