import { blocksIn, pageText } from "../support/pages.ts";

const text = pageText("docs/image.md");

/** What docs/image.md tells an operator to do. */
export const imagePage = {
  text,
  build: blocksIn(text, "sh")[0] ?? "",
  derived: blocksIn(text, "dockerfile")[0] ?? "",
  behindProxy: blocksIn(text, "dockerfile")[1] ?? "",
};
