import { blocksIn, pageText, sectionText } from "../support/pages.ts";

const text = pageText("docs/deploy.md");

/** What docs/deploy.md tells an operator to do about the image. */
export const imagePage = {
  text,
  build: blocksIn(sectionText("docs/deploy.md", "The image"), "sh")[0] ?? "",
  derived: blocksIn(text, "dockerfile")[0] ?? "",
  behindProxy: blocksIn(text, "dockerfile")[1] ?? "",
};
